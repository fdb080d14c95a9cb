"""The parameters that the sketches of a guarantee share, each a field of an attrs class."""

from typing import Any

from skyband.config.parameters import integer, number


def epsilon() -> Any:
    """The relative error."""
    return number(0.02, at_least=0.001, below=1, help="relative error that delta of the answers may exceed")


def delta() -> Any:
    """How often it may be exceeded."""
    return number(0.05, at_least=1e-9, below=1, help="share of the answers that may be off by more than epsilon")


def seed() -> Any:
    """What the hashes begin with."""
    return integer(0, at_least=0, at_most=2**63 - 1, help="seed of the hashes; sketches merge only if theirs agree")
