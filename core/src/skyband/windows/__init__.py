"""When a query answers, and over which windows."""
