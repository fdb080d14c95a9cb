"""sketch/exact: every key with its last time."""
