"""The conformance driver and checks of the role pair-ranker."""
