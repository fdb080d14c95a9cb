"""Parameters: the init fields of an attrs class, each with bounds and a help text.

`describe`, the job checker, the documentation and the scaffold read them here, so a backend
declares each parameter once:

    @define(eq=False)
    class Mine(Sketch):
        epsilon: float = number(0.02, above=0, below=1, help="relative error")
"""

import numbers
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Self, TypeVar

import attrs
from attrs import NOTHING, frozen

from skyband.config.literals import literal
from skyband.errors import ConfigError, Problem, closest, suggest

T = TypeVar("T")
Wrong = str | Sequence[Problem] | None
Check = Callable[[Any], Wrong]
_KEY = "skyband"


@frozen
class Parameter:
    """One parameter of a backend or query."""

    name: str
    type: str
    default: Any
    bounds: str
    help: str

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is NOTHING


@frozen
class _Spec:
    type: str
    bounds: str
    help: str
    check: Check


def integer(
    default: Any = NOTHING, *, at_least: int | None = None, at_most: int | None = None, help: str, **options: Any
) -> Any:
    """A whole number."""
    options.setdefault("converter", _as_int)
    check = _numeric(numbers.Integral, "a whole number", at_least=at_least, at_most=at_most)
    return _field(default, "int", check, _bounds(at_least=at_least, at_most=at_most), help, options)


def number(
    default: Any = NOTHING,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    help: str,
    **options: Any,
) -> Any:
    """A finite number, stored as a float."""
    limits = {"above": above, "at_least": at_least, "below": below, "at_most": at_most}
    options.setdefault("converter", _as_float)
    return _field(default, "float", _numeric(numbers.Real, "a number", **limits), _bounds(**limits), help, options)


def choice(*choices: str, default: Any = NOTHING, help: str, **options: Any) -> Any:
    """One of several words."""

    def check(value: Any) -> str | None:
        if value in choices:
            return None
        meant = closest(value, choices)
        hint = "" if meant is None else f"; did you mean {meant!r}?"
        return f"must be one of {', '.join(choices)} (got {literal(value)}){hint}"

    return _field(default, "str", check, "one of " + ", ".join(choices), help, options)


def flag(default: Any = NOTHING, *, help: str, **options: Any) -> Any:
    """True or false."""

    def check(value: Any) -> str | None:
        return None if isinstance(value, bool) else f"must be true or false (got {literal(value)})"

    return _field(default, "bool", check, "", help, options)


def checked(default: Any = NOTHING, *, type: str, check: Check, bounds: str = "", help: str, **options: Any) -> Any:
    """Any other value: `check(value)` returns what is wrong with it, or None.

    For a value with parts it returns a list of problems, with fields relative to it: `[1].k`, `k`, "" for all of it.
    """
    return _field(default, type, check, bounds, help, options)


def parameters_of(cls: type) -> tuple[Parameter, ...]:
    """The parameters of an attrs class, its own and inherited, in the order they are declared."""
    return tuple(_parameter(field) for field in attrs.fields(cls) if field.init)


class Named:
    """An attrs class whose constructor reports unknown parameters as `build` does."""

    __slots__ = ()

    def __new__(cls, *_: Any, **values: Any) -> Self:
        names = _names(cls)  # type: ignore[arg-type]  # a class is hashable
        if not names.issuperset(values):
            unknown = [name for name in values if name not in names]
            raise ConfigError(*(Problem(name, _unknown(cls, name, names)) for name in unknown))
        return super().__new__(cls)


@cache
def _names(cls: type) -> frozenset[str]:
    return frozenset(field.alias or field.name for field in attrs.fields(cls) if field.init)


def build(cls: type[T], values: Mapping[str, Any]) -> T:
    """`cls(**values)`, or one ConfigError with all problems.

    A class may list deprecated parameters, `renamed: ClassVar = {old: new}`; old names give a FutureWarning.
    """
    values = _by_new_names(getattr(cls, "renamed", {}), values)
    try:
        return cls(**values)
    except (ConfigError, TypeError, ValueError):
        return _build(cls, values)


def _unknown(cls: type, name: str, names: Iterable[str]) -> str:
    refused: Mapping[str, str] = getattr(cls, "refused_keys", {})
    return refused.get(name) or f"unknown; {suggest(name, names)}"


def _by_new_names(renamed: Mapping[str, str], values: Mapping[str, Any]) -> Mapping[str, Any]:
    old = [name for name in values if name in renamed]
    twice = [name for name in old if renamed[name] in values]
    if twice:
        raise ConfigError(*(Problem(name, f"is now called {renamed[name]}, which is also given") for name in twice))
    for name in old:
        message = f"{name}: is now called {renamed[name]} and will be removed in the next minor release"
        warnings.warn(message, FutureWarning, stacklevel=3)
    return {renamed.get(name, name): value for name, value in values.items()} if old else values


def _build(cls: type[T], values: Mapping[str, Any]) -> T:
    """As `build`, but checks each value first: `cls` itself reports only the first problem."""
    fields = {field.name: field for field in attrs.fields(cls) if field.init}  # type: ignore[arg-type]
    unknown = [name for name in values if name not in fields]
    problems = [Problem(name, _unknown(cls, name, fields)) for name in unknown]
    refused: Mapping[str, str] = getattr(cls, "refused_keys", {})
    meant = {closest(name, fields) for name in unknown if name not in refused}
    for name, field in fields.items():
        if name not in values:
            if field.default is NOTHING and name not in meant:
                problems.append(Problem(name, f"is required: {_parameter(field).help or 'it has no default'}"))
            continue
        problems += _as_problems(name, _wrong_if_given(field, values[name]))
    if problems:
        raise ConfigError(*problems)
    try:
        return cls(**values)
    except ConfigError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigError(Problem("", str(error))) from error


def _parameter(field: "attrs.Attribute[Any]") -> Parameter:
    spec: _Spec | None = field.metadata.get(_KEY)
    default: Any = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        default = "computed" if default.takes_self else default.factory()
    if spec is None:
        kind = getattr(field.type, "__name__", str(field.type))
        return Parameter(field.name, kind, default, repr(field.validator) if field.validator else "", "")
    return Parameter(field.name, spec.type, default, spec.bounds, spec.help)


def _wrong_if_given(field: "attrs.Attribute[Any]", value: Any) -> Wrong:
    convert: Any = field.converter
    try:
        return _wrong(field, convert(value) if convert else value)
    except (TypeError, ValueError) as error:
        return str(error)


def _wrong(field: "attrs.Attribute[Any]", value: Any) -> Wrong:
    spec: _Spec | None = field.metadata.get(_KEY)
    if spec is None or _is_default(field, value):
        return None
    return spec.check(value)


def _as_problems(name: str, wrong: Wrong) -> list[Problem]:
    if not wrong:
        return []
    return [Problem(name, wrong)] if isinstance(wrong, str) else [problem.within(name) for problem in wrong]


def _is_default(field: "attrs.Attribute[Any]", value: Any) -> bool:
    return field.default is None and value is None


def _field(default: Any, kind: str, check: Check, bounds: str, help: str, options: dict[str, Any]) -> Any:
    def validate(_: object, field: "attrs.Attribute[Any]", value: Any) -> None:
        problems = _as_problems(field.name, _wrong(field, value))
        if problems:
            raise ConfigError(*problems)

    options.setdefault("on_setattr", attrs.setters.frozen)
    metadata = {_KEY: _Spec(kind, bounds, help, check)}
    return attrs.field(default=default, validator=validate, metadata=metadata, **options)


def _as_int(value: Any) -> Any:
    return value if isinstance(value, bool) or not isinstance(value, numbers.Integral) else int(value)


def _as_float(value: Any) -> Any:
    return value if isinstance(value, bool) or not isinstance(value, numbers.Real) else float(value)


_COMPARISONS: Sequence[tuple[str, str, Callable[[Any, Any], bool]]] = (
    ("at_least", "at least", lambda value, limit: value >= limit),
    ("above", "above", lambda value, limit: value > limit),
    ("at_most", "at most", lambda value, limit: value <= limit),
    ("below", "below", lambda value, limit: value < limit),
)


def _bounds(**limits: float | None) -> str:
    phrases = [f"{words} {limits[name]}" for name, words, _ in _COMPARISONS if limits.get(name) is not None]
    return " and ".join(phrases)


def _numeric(kind: type[Any], what: str, **limits: float | None) -> Check:
    def check(value: Any) -> str | None:
        plain = type(value) is int or (type(value) is float and kind is not numbers.Integral)
        if not plain and (isinstance(value, bool) or not isinstance(value, kind)):
            return f"must be {what} (got {literal(value)})"
        if value != value or value in _INFINITE:
            return f"must be {what} (got {literal(value)})"
        if kind is numbers.Integral and not -(2**63) <= value < 2**63:
            return f"must be {what} that fits 64 bits (got {literal(value)})"
        for name, _, holds in _COMPARISONS:
            limit = limits.get(name)
            if limit is not None and not holds(value, limit):
                return f"must be {_bounds(**limits)} (got {literal(value)})"
        return None

    return check


_INFINITE = (float("inf"), float("-inf"))
