"""The query row-features: what came before each row, as columns beside it."""
