"""The command `skyband demo`."""
