"""Starts Spark: Java, the settings of a session, and what it leaves on this machine."""
