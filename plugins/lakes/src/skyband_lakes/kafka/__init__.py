"""Topics of Kafka through the library confluent-kafka."""
