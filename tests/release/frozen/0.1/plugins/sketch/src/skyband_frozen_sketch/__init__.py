"""sketch/frozen-sketch: every key with its latest time."""
