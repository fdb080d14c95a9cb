"""What programs and commands call: reads a job file for an engine, and runs it."""
