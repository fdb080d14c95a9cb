"""Delta Lake, Apache Iceberg and Kafka as formats of Skyband's jobs, without a connector of Spark."""
