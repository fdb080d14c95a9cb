"""The format mine: a table in one Arrow file."""
