"""What every key-counter must do: a driver for the common checks, an oracle, streams, and further checks.

Needs `skyband-specs`; the backends do not.
"""
