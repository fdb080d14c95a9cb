"""Rows in Redis, in hashes and sorted sets, through the library redis."""
