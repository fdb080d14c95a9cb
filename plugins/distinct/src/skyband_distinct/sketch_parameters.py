"""The parameters that the sketches of a guarantee share, each a field of an attrs class."""

from typing import Any

from skyband.config.parameters import choice, integer, number
from skyband.errors import ConfigError, Problem


def epsilon() -> Any:
    """The relative error."""
    return number(0.02, at_least=0.001, below=1, help="relative error that delta of the answers may exceed")


def delta() -> Any:
    """How often it may be exceeded."""
    return number(0.05, at_least=1e-9, below=1, help="share of the answers that may be off by more than epsilon")


def seed() -> Any:
    """What the hashes begin with."""
    return integer(0, at_least=0, at_most=2**63 - 1, help="seed of the hashes; sketches merge only if theirs agree")


THETA = "theta"
"""Keys are hashed as Apache DataSketches and Spark's theta sketches hash them."""


def hash_() -> Any:
    """How the keys were hashed."""
    message = '"theta": the keys are hashed as Spark\'s theta_sketch_agg does, so that states give theta sketches; the '
    return choice(THETA, default=None, help=f"{message}query's key `hash` sets it")


LATEST = "latest"
"""Of each key the value that it had last is kept."""


def values() -> Any:
    """Whether the keys have values."""
    message = (
        'latest": of each key the value that it had last is kept, so that ranges of it can be counted, or all added '
    )
    return choice(LATEST, default=None, help=f"\"{message}up; the query's key `value` sets it")


def check_seed(seed: int, hash_: str | None) -> None:
    """Raise ConfigError where keys that are hashed as others do are to be hashed with a seed of one's own."""
    if seed and hash_ == THETA:
        message = f"goes without hash = {THETA!r}, whose hashes all have one seed: leave it out"
        raise ConfigError(Problem("seed", f"{message} (got {seed})"))
