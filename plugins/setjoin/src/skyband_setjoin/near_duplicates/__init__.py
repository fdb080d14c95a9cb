"""near-duplicates: which earlier sets in the window each row is similar to."""
