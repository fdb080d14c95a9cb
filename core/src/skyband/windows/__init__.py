"""Schedules of queries: when they answer, and over which windows."""
