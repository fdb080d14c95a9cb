"""What only sketches do."""

COUNT = 0
