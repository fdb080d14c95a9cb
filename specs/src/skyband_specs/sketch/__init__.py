"""How backends of the role sketch are tried."""
