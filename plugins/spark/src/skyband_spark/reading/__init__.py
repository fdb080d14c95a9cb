"""The sources of a job on Spark: those of Spark, and files and tables that Python reads where rows are packed."""
