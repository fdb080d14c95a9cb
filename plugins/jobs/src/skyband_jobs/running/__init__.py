"""A job's run, on any engine: its progress, bad and late rows, metrics, and its end."""
