"""The job file: its model, reading it, checking it, and opening its source."""
