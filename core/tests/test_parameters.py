"""Parameters are checked in every form, and described from their declaration."""

import math
from typing import ClassVar

import attrs
import numpy as np
import pytest
from attrs import define
from skyband.config.literals import literal
from skyband.config.parameters import build, checked, choice, flag, integer, number, parameters_of
from skyband.errors import ConfigError


@define(eq=False)
class Base:
    k: int = integer(at_least=1, help="how many")


@define(eq=False)
class Thing(Base):
    epsilon: float = number(0.02, above=0, below=1, help="relative error")
    mode: str = choice("fast", "small", default="fast", help="what to save")
    loud: bool = flag(False, help="say more")
    limit: int | None = integer(None, at_least=0, at_most=9, help="at most so many")
    name: str = checked("x", type="str", check=lambda value: None if value else "must not be empty", help="its name")


def problems(**values):
    with pytest.raises(ConfigError) as caught:
        build(Thing, values)
    return str(caught.value).splitlines()


def test_parameters_are_described_in_order_inherited_ones_first():
    described = {parameter.name: parameter for parameter in parameters_of(Thing)}
    assert list(described) == ["k", "epsilon", "mode", "loud", "limit", "name"]
    assert described["k"].required
    assert described["epsilon"].bounds == "above 0 and below 1"
    assert described["epsilon"].default == 0.02
    assert described["mode"].bounds == "one of fast, small"
    assert (described["limit"].type, described["limit"].bounds) == ("int", "at least 0 and at most 9")
    assert described["name"].help == "its name"


def test_every_problem_is_reported_at_once():
    assert problems(epsilon=1, mod="fast", loud=1) == [
        "mod: unknown; did you mean 'mode'?",
        "k: is required: how many",
        "epsilon: must be above 0 and below 1 (got 1.0)",
        "loud: must be true or false (got 1)",
    ]


@pytest.mark.parametrize("value", [0, -1])
def test_bounds_of_whole_numbers(value):
    assert problems(k=value) == [f"k: must be at least 1 (got {value})"]


@pytest.mark.parametrize("value", [True, 1.0, "1", None, math.nan])
def test_values_that_are_not_integers(value):
    assert problems(k=value) == [f"k: must be a whole number (got {literal(value)})"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "0.5", True])
def test_values_that_are_not_numbers(value):
    assert problems(k=1, epsilon=value) == [f"epsilon: must be a number (got {literal(value)})"]


def test_a_choice_suggests_the_closest():
    assert problems(k=1, mode="fsat") == ["mode: must be one of fast, small (got 'fsat'); did you mean 'fast'?"]


def test_none_stands_where_it_is_the_default_only():
    assert build(Thing, {"k": 1, "limit": None}).limit is None
    assert problems(k=1, epsilon=None) == ["epsilon: must be a number (got None)"]


def test_numpy_numbers_become_plain_ones():
    thing = build(Thing, {"k": np.int32(3), "epsilon": np.float32(0.5)})
    assert (type(thing.k), type(thing.epsilon)) == (int, float)


def test_calling_the_class_checks_as_well():
    with pytest.raises(ConfigError, match="k: must be at least 1"):
        Thing(0)


def test_parameters_cannot_be_changed_later():
    with pytest.raises(attrs.exceptions.FrozenAttributeError):
        Thing(1).k = 2


def test_a_fault_of_the_class_itself_is_a_config_error():
    @define(eq=False)
    class Picky(Base):
        def __attrs_post_init__(self) -> None:
            raise ValueError("too many")

    with pytest.raises(ConfigError, match="too many"):
        build(Picky, {"k": 1})


def test_whole_numbers_are_of_64_bits():
    assert problems(k=2**63) == [f"k: must be a whole number that fits 64 bits (got {2**63})"]


@define(eq=False)
class Newer(Base):
    renamed: ClassVar = {"count": "k"}


def test_a_deprecated_name_is_accepted_with_a_warning_that_names_the_new_one():
    with pytest.warns(FutureWarning, match="count: is now called k and will be removed in the next minor release"):
        assert build(Newer, {"count": 3}).k == 3


def test_an_old_and_a_new_name_at_once_are_a_problem():
    with pytest.raises(ConfigError, match="count: is now called k, which is also given"):
        build(Newer, {"count": 3, "k": 4})


def test_problems_under_an_old_name_are_reported_under_the_new_one():
    with pytest.warns(FutureWarning), pytest.raises(ConfigError, match="k: must be at least 1"):
        build(Newer, {"count": 0})
