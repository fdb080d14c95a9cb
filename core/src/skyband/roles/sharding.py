"""What a shard of a join does with each row: compare it with earlier rows, keep it for later ones, or both.

Each shard of a join matrix compares some rows with those before them, and keeps some for those after them.
"""

PROBE, BUILD = 1, 2
"""A row is compared with the earlier ones (PROBE), kept for the later ones (BUILD), as in a hash join."""

BOTH = PROBE | BUILD
"""A row does both, in exactly one shard."""
