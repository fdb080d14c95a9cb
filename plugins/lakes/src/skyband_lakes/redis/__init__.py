"""Rows in Redis hashes and sorted sets, with the library redis."""
