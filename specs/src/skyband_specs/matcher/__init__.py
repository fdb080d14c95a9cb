"""How backends of the role matcher are tried."""
