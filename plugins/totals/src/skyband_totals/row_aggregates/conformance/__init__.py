"""What every row-aggregate must do: a driver for the common checks, streams, and further checks.

The oracle is the aggregate's own `definition`. Needs `skyband-specs`; the aggregates do not.
"""
