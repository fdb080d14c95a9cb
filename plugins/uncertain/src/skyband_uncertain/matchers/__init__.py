"""The matchers of uncertain tuples: four implementations with the same answers."""
