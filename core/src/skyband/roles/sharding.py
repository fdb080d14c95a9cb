"""What a shard does with a row that it shares with others, where rows meet in pairs.

Each shard of a join matrix is given some rows to compare with those before them, and some to keep for those to come.
"""

PROBE, BUILD = 1, 2
"""A row is compared with the earlier ones (PROBE), kept for the later ones (BUILD): the words of a hash join."""

BOTH = PROBE | BUILD
"""Where a row does both: in one shard only, whose own it is."""
