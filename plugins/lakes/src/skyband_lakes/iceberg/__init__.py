"""Apache Iceberg tables, with the library pyiceberg."""
