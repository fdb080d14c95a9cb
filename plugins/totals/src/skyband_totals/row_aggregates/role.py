"""RowAggregate: one number or value of the rows in each of many windows, such as their maximum."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Int64, column, moment, never_back
from skyband.columns import column_ops, record_batch_bytes
from skyband.columns.ids import PLAIN, is_plain
from skyband.columns.keyed_frames import decoded, plain_type, with_one_zero
from skyband.columns.numbers import is_number
from skyband.errors import InputError
from skyband.roles import Backend
from skyband.state_validation import StateReader

from skyband_totals.row_aggregates.storages import (
    CONDITION,
    HASH,
    INSIDE,
    NUMBER,
    OUTSIDE,
    REASONS,
    ROWS,
    VALUE,
    storage_of,
)
from skyband_totals.row_aggregates.storages import encoded as encoded_by

_EMPTY = pa.array([], pa.null())


@define(eq=False)
class RowAggregate(Backend):
    """One number or value of the rows in a window, for many windows at once: a count, a maximum, a deviation.

    An aggregate is a function of the values inside alone: of `items` from place `first` up to, not including, `stop`.
    Groups, nulls, conditions, late rows and when a window begins are the concern of row-features, which calls `_over`
    for all groups together. So a table, a stream and a training set have the same values, to the last bit.

    `keeps` says what it needs of a row, and so what it gets in `items`: "value", the default, a `Values` to compare and
    return; "number", a `Numbers` to calculate with, exactly; "hash", `Hashes` that distinguish values; "condition",
    bool[n], whether its `where` holds; "rows", their number only. Values that are null are left out before.

    Alone, an aggregate holds the rows of one group: `update` adds rows, `forget` removes old ones, and `over` asks
    for windows. row-features does not use these.
    """

    role: ClassVar[str] = "row-aggregate"
    keeps: ClassVar[str] = VALUE
    """"number", "value", "hash", "condition" or "rows"."""

    _times: Int64 = field(factory=lambda: np.empty(0, np.int64), init=False)
    _values: pa.Array = field(default=_EMPTY, init=False)
    """Those of the rows, of a null type before the first."""
    _now: int | None = field(default=None, init=False)

    @property
    def now(self) -> int | None:
        """The time of the last row, in microseconds; None before the first."""
        return self._now

    def gives(self, kind: pa.DataType) -> pa.DataType:  # noqa: ARG002 - most give numbers
        """The type of its values for a column of this type, which is null without a column."""
        return pa.float64()

    def problem_of(self, kind: pa.DataType) -> str | None:
        """Why it takes no column of this type, after "must be"; None if it does."""
        if self.keeps == NUMBER:
            return None if is_number(kind) else "a number"
        return None if is_plain(kind) else PLAIN

    @property
    def multiple(self) -> float | None:
        """The unit of its numbers, if it has one."""
        unit: float | None = getattr(self, "unit", None)
        return unit

    @abstractmethod
    def _over(self, items: Any, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array | pa.Array:
        """Its values, [w, q] or flat: for each of w windows and q questions that over first[w, i] <= place < stop[i].

        first: int64[w, q], ascending for each window; stop: int64[q], ascending; windows may be empty. times: int64[n],
        in microseconds, ascending where one window sees them; at: int64[q], the time of each question. NaN is null.
        """

    @abstractmethod
    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> Any:
        """Its value for one window, in plain Python: what the conformance checks compare it with.

        values: those inside, none null; of "rows" 1 each. times: theirs, in microseconds, ascending.
        """

    def update(self, times: npt.ArrayLike, values: Any = None) -> None:
        """Add rows: times, int64[n] in microseconds, ascending and never before earlier ones; values, an Arrow array.

        Nulls are left out. Raises InputError, changing nothing, for times that go back, a column of another type than
        before, and values that row-features would give as null, such as NaN.
        """
        moments: Int64 = column("times", times, np.int64)
        never_back("times", moments, self._now)
        if self.keeps == ROWS:
            if values is not None:
                raise InputError("values", f"are not for {self.name}, which takes rows only")
            values = pa.array(np.ones(len(moments), np.int8))
        column_of_rows = self._checked(values, len(moments))
        if len(moments):
            self._update(moments, column_of_rows)
            self._now = int(moments[-1])

    def _update(self, times: Int64, values: pa.Array) -> None:
        """Add rows; nulls are left out."""
        inside = values.is_valid()
        own = values.filter(inside)
        self._values = own if pa.types.is_null(self._values.type) else column_ops.joined([self._values, own])
        self._times = np.concatenate([self._times, times[inside.to_numpy(zero_copy_only=False)]])

    def forget(self, before: int) -> None:
        """Remove the rows with a time below `before`. Idempotent."""
        place = int(np.searchsorted(self._times, moment("before", before)))
        self._values = self._values.take(pa.array(np.arange(place, len(self._values))))
        self._times = self._times[place:].copy()

    def over(self, since: npt.ArrayLike, until: npt.ArrayLike) -> pa.Array:
        """Its values over the rows with since[i] <= time < until[i], asked at until[i].

        since, until: int64[q], both ascending. O(rows), and what the aggregate takes.
        """
        begins: Int64 = column("since", since, np.int64)
        ends: Int64 = column("until", until, np.int64, len(begins))
        never_back("since", begins, None)
        never_back("until", ends, None)
        wrong = np.flatnonzero(ends < begins)
        if len(wrong):
            row = int(wrong[0])
            raise InputError("until", f"{int(ends[row])} is before since, {int(begins[row])}", row)
        first, stop = np.searchsorted(self._times, begins), np.searchsorted(self._times, ends)
        items = self._items()
        return self.as_column(self._over(items, first[None, :], stop, self._times, ends), self._type)

    def as_column(self, values: Array | pa.Array, kind: pa.DataType) -> pa.Array:
        """The result of `_over` as a column of the type that it gives."""
        if isinstance(values, np.ndarray):
            flat = values.reshape(-1)
            values = pa.array(flat, mask=np.isnan(flat) if flat.dtype.kind == "f" else None)
        return values.cast(self.gives(kind))

    @property
    def _type(self) -> pa.DataType:
        """That of its values; before the first that of any numbers."""
        return pa.float64() if pa.types.is_null(self._values.type) else self._values.type

    def _items(self) -> Any:
        """The rows as `_over` takes them."""
        if self.keeps == ROWS:
            return len(self._times)
        if self.keeps == CONDITION:
            return self._values.cast(pa.bool_()).to_numpy(zero_copy_only=False)
        storage = storage_of(self.keeps, self._type, self.multiple)
        return storage.items(_as_numpy(encoded_by(storage, self._values.cast(storage.kind))), self.keeps)

    def _checked(self, values: Any, rows: int) -> pa.Array:
        plain_or_null = values if isinstance(values, pa.Array) else _as_arrow(values)
        if len(plain_or_null) != rows:
            raise InputError("values", f"must have {rows} values, as the times have (got {len(plain_or_null)})")
        kind = plain_type(plain_or_null.type)
        if pa.types.is_null(kind):
            return pa.nulls(rows, self._type)
        is_wrong = not pa.types.is_boolean(kind) if self.keeps == CONDITION else self.problem_of(kind)
        if is_wrong:
            raise InputError("values", f"must be {'truth values' if is_wrong is True else is_wrong} (got {kind})")
        if self._values.type not in (kind, pa.null()):
            raise InputError("values", f"must be {self._values.type}, as earlier ones were (got {kind})")
        plain = with_one_zero(decoded(plain_or_null))
        if self.keeps not in (ROWS, CONDITION, HASH):
            storage = storage_of(self.keeps, kind, self.multiple)
            codes = storage.codes(_as_numpy(encoded_by(storage, plain)))
            if codes is not None and (codes > OUTSIDE).any():
                row = int((codes > OUTSIDE).argmax())
                why = REASONS[int(codes[row])]
                raise InputError("values", f"{plain[row].as_py()!r} cannot be added or compared: {why}", row)
        return plain

    def __len__(self) -> int:
        return len(self._times)

    @property
    def nbytes(self) -> int:
        return self._times.nbytes + self._values.nbytes + 64

    def _state(self) -> dict[str, Array]:
        rows = pa.RecordBatch.from_arrays([self._values], ["values"])
        now = np.array([] if self._now is None else [self._now], np.int64)
        return {"times": self._times, "now": now, "values": np.frombuffer(record_batch_bytes.to_bytes(rows), np.uint8)}

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        now = reader.column("now", np.int64)
        reader.require(len(now) <= 1, "now", "must be one time at most")
        times = reader.ascending("times")
        rows = record_batch_bytes.from_bytes(reader.column("values", np.uint8).tobytes())
        reader.require(rows.num_columns == 1 and len(rows) == len(times), "values", "must be one for each time")
        values = rows.column(0)
        reader.require(len(values) == 0 or not values.null_count, "values", "must not be null")
        last = TIME_MIN if not len(now) else int(now[0])
        reader.require(not len(times) or int(times[-1]) <= last, "times", "must be at most `now`")
        self._checked(values, len(times))
        self._times, self._values = times.copy(), values
        self._now = last if len(now) else None


def _as_arrow(values: Any) -> pa.Array:
    try:
        return pa.array([] if values is None else values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError("values", f"must be an Arrow array, or values of one type: {error}") from error


def _as_numpy(columns: Mapping[str, pa.Array]) -> dict[str, Any]:
    numeric = (pa.types.is_integer, pa.types.is_floating)
    return {
        name: one.to_numpy(zero_copy_only=False)
        if any(test(one.type) for test in numeric) and not one.null_count
        else one
        for name, one in columns.items()
    }


__all__ = ["CONDITION", "HASH", "INSIDE", "NUMBER", "ROWS", "VALUE", "RowAggregate"]
