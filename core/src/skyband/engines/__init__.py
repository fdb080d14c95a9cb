"""The hosts of an operator: in process, Spark batch, Spark Structured Streaming."""
