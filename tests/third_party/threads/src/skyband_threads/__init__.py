"""Skyband's queries in threads, each with groups of its own."""
