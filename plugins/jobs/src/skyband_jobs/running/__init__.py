"""A job while it runs, on any engine: its progress, what is written beside its answers, and its end."""
