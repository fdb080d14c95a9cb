"""heavy-hitters: the objects with the most rows, the largest sum or the most distinct values."""
