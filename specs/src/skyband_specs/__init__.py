"""Checks of what every backend of a role must do, which run under pytest and without it."""

__version__ = "0.1.0"
