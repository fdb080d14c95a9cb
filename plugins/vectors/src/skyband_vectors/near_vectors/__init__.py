"""near-vectors: which earlier vectors in the window each row is near to."""
