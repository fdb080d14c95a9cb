"""The version of all of Skyband's distributions."""

__version__ = "0.1.0"
