"""Questions to states of sketches: the number of items, the overlap of two states, a theta sketch."""
