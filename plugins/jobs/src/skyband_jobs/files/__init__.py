"""The rows of a source read in this process, by the same code whatever the engine."""
