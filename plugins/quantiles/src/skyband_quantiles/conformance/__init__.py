"""What every quantile sketch must do: a driver for the common checks, an oracle, streams, and checks of its own.

Needs `skyband-specs`; the backends do not.
"""
