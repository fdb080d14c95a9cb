"""The conformance driver and checks of the role sketch."""
