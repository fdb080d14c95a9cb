"""The command `skyband demo`: the first five minutes."""
