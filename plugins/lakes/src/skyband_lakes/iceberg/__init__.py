"""Apache Iceberg tables through the library pyiceberg."""
