"""The operator runs one query on any engine: its groups, their processors, and its state."""
