"""Checks that hold for every role, one module a group."""
