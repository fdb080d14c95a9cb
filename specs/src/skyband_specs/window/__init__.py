"""How backends of the role window are tried."""
