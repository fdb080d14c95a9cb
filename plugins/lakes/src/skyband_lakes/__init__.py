"""Formats for Skyband's jobs without a Spark connector: Delta Lake, Apache Iceberg, Kafka, Redis and SQL databases."""
