"""The command mine: counts the answers in a Parquet file."""
