"""row-features: what happened before each row, as columns of it."""
