"""A job file: its model, read, checked, and its source opened."""
