"""What every backend of a role must do, as checks that run under pytest and without it."""

__version__ = "0.1.0"
