"""Kafka topics, with the library confluent-kafka."""
