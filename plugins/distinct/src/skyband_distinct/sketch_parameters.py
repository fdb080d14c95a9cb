"""The parameters that several sketches share, each a field of an attrs class."""

from typing import Any

from skyband.config.parameters import choice, integer, number
from skyband.errors import ConfigError, Problem


def epsilon() -> Any:
    """The relative error."""
    return number(0.02, at_least=0.001, below=1, help="relative error that delta of the answers may exceed")


def delta() -> Any:
    """The share of answers that may exceed it."""
    return number(0.05, at_least=1e-9, below=1, help="share of the answers that may be off by more than epsilon")


def seed() -> Any:
    """The seed of the hashes."""
    return integer(0, at_least=0, at_most=2**63 - 1, help="seed of the hashes; only sketches with equal seeds merge")


THETA = "theta"
"""Keys are hashed as Apache DataSketches and Spark's theta sketches hash them."""


def hash_() -> Any:
    """The hash function of the keys."""
    message = '"theta": keys are hashed as Spark\'s theta_sketch_agg does, so that states yield theta sketches; set by '
    return choice(THETA, default=None, help=f"{message}the query's key `hash`")


LATEST = "latest"
"""The latest value of each key is kept."""


LARGEST = 2.0**960
"""The largest absolute value that is added up: no sum of such values overflows float64."""


def values() -> Any:
    """Whether values of the keys are kept."""
    message = "each key's latest value is kept, so that ranges of it can be counted, or all values added up; set by"
    return choice(LATEST, default=None, help=f'"latest": {message} the query\'s key `value`')


def check_seed(seed: int, hash_: str | None) -> None:
    """Raise ConfigError if a seed is set together with hashes whose seed is fixed."""
    if seed and hash_ == THETA:
        message = f"cannot be set with hash = {THETA!r}, whose hashes all have the same seed: leave it out"
        raise ConfigError(Problem("seed", f"{message} (got {seed})"))
