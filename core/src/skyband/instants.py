"""Instants and dates as text and Python values, including years outside of Python's datetime (1 to 9999)."""

import datetime
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = datetime.datetime(1970, 1, 1)
CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
"""After this many years the Gregorian calendar repeats, including the days of the week."""
CYCLE = _CYCLE_DAYS * 86_400_000_000
_PER_SECOND = {"s": 1_000_000, "ms": 1_000}


@frozen(repr=False)
class Instant:
    """A moment or day in any year: a year that Python supports with the same calendar, plus cycles of 400 years."""

    near: "datetime.datetime | datetime.date"
    cycles: int

    @property
    def year(self) -> str:
        """The year in ISO 8601: four digits, with a sign if it needs more or is negative."""
        number = self.near.year + CYCLE_YEARS * self.cycles
        return f"{number:04}" if 0 <= number <= 9999 else f"{number:+05}"

    def isoformat(self, *form: str) -> str:
        """As `datetime.isoformat`."""
        return self.year + self.near.isoformat(*form)[4:]

    def __str__(self) -> str:
        return self.isoformat(" ") if isinstance(self.near, datetime.datetime) else self.isoformat()

    __repr__ = __str__

    def strftime(self, pattern: str) -> str:
        """As `datetime.strftime`."""
        return self.near.strftime(pattern.replace("%Y", self.year))

    def plain(self) -> str:
        """The text without zone and without empty parts."""
        if not isinstance(self.near, datetime.datetime):
            return self.isoformat()
        bare = Instant(self.near.replace(tzinfo=None), self.cycles)
        return bare.isoformat(" ", "microseconds" if self.near.microsecond else "seconds")


def instant(microseconds: float) -> Instant:
    """The instant of microseconds since the epoch."""
    cycles, rest = divmod(int(microseconds), CYCLE)
    return Instant(_EPOCH + datetime.timedelta(microseconds=rest), cycles)


def python_values(column: "pa.Array | pa.ChunkedArray") -> list[Any]:
    """A column's values as Python values; an `Instant` where Python has no datetime or date for it."""
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):  # rare, so only here value by value
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> Any:
    import pyarrow as pa

    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_struct(kind):
        return {name: _value(scalar[name]) for name in kind.names}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [_value(entry) for entry in scalar.values]
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return _far(scalar)


def _far(scalar: Any) -> Any:
    """A value that Python cannot hold: an `Instant`, or text as Arrow writes it."""
    import pyarrow as pa

    kind = scalar.type
    if pa.types.is_dictionary(kind):
        return _value(scalar.value)
    if pa.types.is_date(kind):
        cycles, rest = divmod(scalar.cast(pa.date32()).value, _CYCLE_DAYS)
        return Instant((_EPOCH + datetime.timedelta(days=rest)).date(), cycles)
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        cycles, rest = divmod(scalar.value * _PER_SECOND.get(kind.unit, 1), CYCLE)
        near = _EPOCH + datetime.timedelta(microseconds=rest)
        if kind.tz is not None:
            near = near.replace(tzinfo=datetime.UTC).astimezone(pa.lib.string_to_tzinfo(kind.tz))
        return Instant(near, cycles)
    return scalar.cast(pa.string()).as_py()
