"""The rows of a source, read in this process by the same code on every engine."""
