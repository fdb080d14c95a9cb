"""row-aggregates: what row-features says of the values in a window, one class each, and the role they share."""
