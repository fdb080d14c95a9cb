"""uncertain-join: which uncertain tuples are near each other, and with which probability."""
