"""The windows over tuples that may not exist: exact, approximate, and for certain tuples."""
