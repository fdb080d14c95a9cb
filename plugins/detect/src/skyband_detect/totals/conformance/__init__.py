"""What every key-total must do: a driver for the common checks, an oracle, and further checks.

Needs `skyband-specs`; the backends do not.
"""
