"""What a job reads on Spark: sources of Spark, and files and tables that Python reads where rows are packed."""
