"""Runs a stream as one small process: it resumes after any kill, and each sink has each answer once."""
