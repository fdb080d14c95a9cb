"""window/frozen-window: the kept probabilities, added up anew for every decision."""
