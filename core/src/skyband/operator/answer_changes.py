"""Changes from one answer to the next: the log of a query with `answers = "changes"`.

An answer belongs to one group, moment and window of the query. Each is compared with the stored answer of the moment
before: a new object has entered, one with different columns is updated, a missing one has left. An answer that becomes
empty is reported once more, as emptied. So the log is a function of the answers and their moments, for any division
into steps. Applied to an empty table, it gives the answer of every moment.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import concatenated, plain_type, typed
from skyband.columns.state_frame_checks import check_numbers
from skyband.errors import InputError, SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.execution import Execution
from skyband.queries.output_modes import CHANGE

_WORDS = pa.array(["left", "emptied", "entered", "updated"])
"""Values of the column `change`; the first two remove rows, and come first within an answer."""
_EMPTIED = 1
_NAME = "last answers"


class _Moments(NamedTuple):
    """The moments of rows, in order of (answer, at), int64[m] each except the masks."""

    of_row: Int64
    """int64[n]: the moment of each row."""
    answer: Int64
    """The number of its answer."""
    at: Int64
    following: Int64
    """The moment after it with such an answer; -1 if there is none yet."""
    due: Int64
    """The time when the next answer was or will be due."""
    empties: Array
    """bool[m]: whether the answer due next was empty."""


@define(eq=False)
class AnswerChanges:
    """The last answers of one shard, and the changes that later ones make. Starts with an empty batch."""

    execution: Execution[Any]
    schema: pa.Schema
    """The schema of the shard's answers, without the changes."""
    broadcast: BroadcastState | None = None
    """The second table that determines which answers are due, if any."""
    rows: pa.RecordBatch = field(init=False)
    """The rows of the last answers, without dictionaries."""
    _row_ids: tuple[UInt64, UInt64] | None = field(default=None, init=False)
    """The result of `_ids` for these rows, if known."""
    _restored_at: int = field(default=TIME_MIN, init=False)
    """The watermark at which these rows were restored, when the query may have lost parts."""

    @rows.default
    def _none(self) -> pa.RecordBatch:
        columns = [pa.array([], plain_type(kind)) for kind in self.schema.types]
        return pa.RecordBatch.from_arrays(columns, self.schema.names)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, answers: pa.RecordBatch, answered: int | Int64, latest: int | None = None) -> pa.RecordBatch:
        """The changes that these answers make, with those of answers that are now empty.

        answered: the moment up to which all answers were given, in this call or before; int64[q], one for each part of
        the query, if they have their own moments. latest: the last time of an input that has ended; answers of a second
        table were then given up to the first later moment of each. Returns the answers' columns with `change` after
        `at`, in order of (moment, answer). O(n log n) for the stored and new rows.

        Raises InputError if two rows of an answer have one key.
        """
        every = concatenated([self.rows, answers]) if len(self) else concatenated([answers])
        if not len(every):
            nothing = np.empty(0, np.int64)
            return self._log(every, nothing, nothing, nothing)
        answer_ids, row_ids = self._all_ids(every)
        moments = self._moments(every, answer_ids, answered, latest)
        before, after = self._paired(every, row_ids, moments)
        log = self._changes(every, moments, before, after)
        stay = ((moments.following < 0) & ~moments.empties)[moments.of_row]
        self.rows, self._row_ids = every.filter(pa.array(stay)), (answer_ids[stay], row_ids[stay])
        return log

    def _all_ids(self, rows: pa.RecordBatch) -> tuple[UInt64, UInt64]:
        """`_ids` of the stored rows and those after them."""
        if self._row_ids is None:
            return self._ids(rows)
        answer_ids, row_ids = self._ids(rows.slice(len(self)))
        return np.concatenate([self._row_ids[0], answer_ids]), np.concatenate([self._row_ids[1], row_ids])

    def _ids(self, rows: pa.RecordBatch) -> tuple[UInt64, UInt64]:
        """uint64[n] twice: the answer of each row, over all moments; and the row within it."""
        query = self.execution.query
        apart = [*rows.columns[: len(query.by)], *map(rows.column, query.separate_answers)]
        answer_ids = hash_columns(apart) if apart else np.zeros(len(rows), np.uint64)
        key = [rows.column(name) for name in query.key_columns if name not in query.separate_answers]
        parts = [pa.array(answer_ids), *key]
        return answer_ids, hash_columns(parts)

    def _moments(self, rows: pa.RecordBatch, answer_ids: UInt64, answered: int | Int64, latest: int | None) -> _Moments:
        every_at = rows.column("at").cast(pa.int64()).to_numpy()
        another = (answer_ids[1:] != answer_ids[:-1]) | (every_at[1:] != every_at[:-1])
        begins = np.flatnonzero(np.append(True, another))  # rows of an answer are consecutive, so few are sorted
        ids, at = answer_ids[begins], every_at[begins]
        order = np.lexsort((at, ids))
        ids, times = ids[order], at[order]
        fresh = np.append(True, (ids[1:] != ids[:-1]) | (times[1:] != times[:-1]))
        of_block = np.empty(len(begins), np.int64)
        of_block[order] = np.cumsum(fresh) - 1
        of_row = np.repeat(of_block, np.diff(begins, append=len(rows)))
        ids, moment_at = ids[fresh], times[fresh]
        count = len(ids)
        goes_on = np.append(ids[1:] == ids[:-1], False)
        following = np.where(goes_on, np.arange(1, count + 1), -1)
        due, limit = self._due(rows, begins[order][fresh], moment_at, answered, latest)
        next_at = np.where(goes_on, moment_at[following], limit + 1)
        answer = np.cumsum(np.append(0, ~goes_on[:-1]))
        return _Moments(of_row, answer, moment_at, following, due, due < next_at)

    def _due(
        self, rows: pa.RecordBatch, places: Int64, at: Int64, answered: int | Int64, latest: int | None
    ) -> tuple[Int64, Int64]:
        """int64[m] twice, for answers at these moments, each with a row at one of these places: when the next answer is
        due, and up to when such answers were given.
        """
        query, limit = self.execution.query, np.full(len(at), np.max(answered))
        if self.broadcast is not None:
            asked = rows.take(pa.array(places))
            names, groups = asked.column(query.separate_answers[0]), _groups_of(asked, len(query.by))
            if latest is not None:
                limit = self.broadcast.next_due(names, groups, np.full(len(at), latest))
            return self.broadcast.next_due(names, groups, at), limit
        parts = self.execution.parts_of(rows)
        if parts is None:
            return query.schedule.after(at), limit
        own = parts[places]
        ends = np.broadcast_to(np.asarray(answered, np.int64), len(query.schedule.slides))
        of_none = own < 0
        due = np.where(of_none, np.maximum(at, self._restored_at) + 1, query.schedule.after_own(at, own))
        return due, np.where(of_none, limit, ends[own])

    def _paired(self, rows: pa.RecordBatch, row_ids: UInt64, moments: _Moments) -> tuple[Int64, Int64]:
        """int64[p] twice: rows that also appear in the next answer, and their places there."""
        order = _grouped(row_ids, moments.of_row)
        first, second = order[:-1], order[1:]
        ids, of_row = row_ids[order], moments.of_row[order]
        alike, earlier, later = ids[:-1] == ids[1:], of_row[:-1], of_row[1:]
        twice = np.flatnonzero(alike & (earlier == later))
        if len(twice):
            self._refuse(rows, int(second[twice[0]]))
        goes_on = alike & (moments.following[earlier] == later) & ~moments.empties[earlier]
        return first[goes_on], second[goes_on]

    def _refuse(self, rows: pa.RecordBatch, place: int) -> None:
        names = self.execution.query.key_columns
        values = ", ".join(f"{name} = {rows.column(name)[place].as_py()!r}" for name in names)
        remedy = f"add a column that distinguishes them, as in key = {[*names, 'rank']}"
        raise InputError("key", f"two rows of the answer at {rows.column('at')[place]} have {values}: {remedy}")

    def _changes(self, rows: pa.RecordBatch, moments: _Moments, before: Int64, after: Int64) -> pa.RecordBatch:
        count, old = len(rows), len(self.rows)
        gone, new = np.ones(count, bool), np.arange(count) >= old
        gone[before] = False
        new[after] = False
        ended = moments.empties[moments.of_row]
        gone &= ended | (moments.following[moments.of_row] >= 0)
        if self._one_row:
            gone &= ~ended  # its removal empties the answer, which is reported once
        empties = np.flatnonzero(moments.empties)
        a_row = np.empty(len(moments.at), np.int64)
        a_row[moments.of_row] = np.arange(count)
        differ = after[self._differ(rows, before, after)]
        groups = [np.flatnonzero(gone), a_row[empties], np.flatnonzero(new), differ]
        places, kinds = np.concatenate(groups), np.repeat(np.arange(4), [len(group) for group in groups])
        moment = moments.of_row[places]
        ends = np.where(moments.empties, moments.due, moments.at[moments.following])
        removes = kinds <= _EMPTIED
        at = np.where(removes, ends[moment], moments.at[moment])
        order = _in_order(at, moments.answer[moment], np.minimum(kinds, _EMPTIED + 1), places)
        return self._log(rows, places[order], at[order], kinds[order])

    @property
    def _one_row(self) -> bool:
        """Whether an answer can have at most one row."""
        query = self.execution.query
        return {*query.key_columns} <= {*query.separate_answers}

    def _differ(self, rows: pa.RecordBatch, before: Int64, after: Int64) -> Array:
        """bool[p]: the rows that differ in a column that counts as a change."""
        query = self.execution.query
        fixed = {*self.schema.names[: len(query.by)], "at", *query.separate_answers, *query.key_columns}
        differ = np.zeros(len(before), bool)
        for name in query.changed or [name for name in self.schema.names if name not in fixed]:
            differ |= _unlike(rows.column(name).take(pa.array(before)), rows.column(name).take(pa.array(after)))
        return differ

    def _log(self, rows: pa.RecordBatch, places: Int64, at: Int64, kinds: Array) -> pa.RecordBatch:
        """These rows as changes of these kinds, int64[c], at these moments, int64[c]."""
        query = self.execution.query
        chosen_rows = rows.take(pa.array(places))
        stay = {*self.schema.names[: len(query.by)], *query.separate_answers}
        emptied = pa.array(kinds == _EMPTIED)
        columns, fields = [], []
        for entry, column in zip(self.schema, chosen_rows.columns, strict=True):
            if entry.name == "at":
                columns += [pa.array(at, pa.int64()).cast(entry.type), _WORDS.take(pa.array(kinds, pa.int64()))]
                fields += [entry, CHANGE]
                continue
            values = column if entry.name in stay else pc.if_else(emptied, pa.scalar(None, column.type), column)
            columns.append(typed(values, entry.type))
            fields.append(entry)
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def absorb(self, other: "AnswerChanges", select: Any) -> None:
        """Take over another shard's rows of the groups selected by `select`, uint64[n] -> bool[n]."""
        if len(other):
            self.rows = concatenated([self.rows, other.rows.filter(pa.array(select(other.groups)))])
            self._row_ids, self._restored_at = None, max(self._restored_at, other._restored_at)

    @property
    def groups(self) -> UInt64:
        """uint64[n]: the group of each stored row."""
        return _groups_of(self.rows, len(self.execution.query.by))

    def dump_state(self) -> dict[str, Array]:
        """Arrays for `load_state`, in canonical order; empty if nothing is stored."""
        answer_ids, _ = self._row_ids or self._ids(self.rows)
        by_answer = np.argsort(answer_ids, kind="stable")  # rows of an answer are consecutive, in its order
        return state_arrays.frame_to_array(_NAME, self.rows.take(pa.array(by_answer)))

    def load_state(self, arrays: Mapping[str, Array], watermark: int | None) -> None:
        """Load the result of `dump_state`. Raises SnapshotError if it is damaged."""
        own_arrays = {key: values for key, values in arrays.items() if key.startswith(f"{_NAME} ")}
        self.rows, self._row_ids = state_arrays.frame_from_array(_NAME, own_arrays, self.rows), None
        self._restored_at = TIME_MIN if watermark is None else watermark
        if len(self) and watermark is not None:
            at = pa.RecordBatch.from_arrays([self.rows.column("at").cast(pa.int64())], ["at"])
            check_numbers(at, "at", at_most=watermark)
        self._row_ids = self._ids(self.rows)
        self._check_ids(*self._row_ids)

    def _check_ids(self, answer_ids: UInt64, row_ids: UInt64) -> None:
        """Raise SnapshotError if a stored answer has two rows of one key, or two moments."""
        if len(np.unique(row_ids)) < len(row_ids):
            raise SnapshotError(f"contradicts itself: two rows of one of its {_NAME} have one key")
        order, at = np.argsort(answer_ids, kind="stable"), self.rows.column("at").cast(pa.int64()).to_numpy()
        ids, at = answer_ids[order], at[order]
        if ((ids[1:] == ids[:-1]) & (at[1:] != at[:-1])).any():
            raise SnapshotError(f"contradicts itself: one of its {_NAME} is of two moments")


def _groups_of(rows: pa.RecordBatch, by: int) -> UInt64:
    """uint64[n]: the group of each row, from its first columns."""
    return hash_columns(rows.columns[:by]) if by else np.zeros(len(rows), np.uint64)


def _grouped(ids: UInt64, then: Int64) -> Int64:
    """int64[n]: an order by ids, and for equal ids, usually at most two, by `then`."""
    order = np.argsort(ids)
    sorted_ids, sorted_then = ids[order], then[order]
    alike = sorted_ids[1:] == sorted_ids[:-1]
    if (alike[1:] & alike[:-1]).any():
        return np.lexsort((then, ids))
    swapped = np.flatnonzero(alike & (sorted_then[1:] < sorted_then[:-1]))
    order[swapped], order[swapped + 1] = order[swapped + 1], order[swapped]
    return order


def _in_order(*keys: Int64) -> Int64:
    """int64[n]: an order by several keys that no two rows share; combined into one number if that fits 64 bits."""
    merged, room = np.zeros(len(keys[0]), np.int64), 1
    for number, key in enumerate(keys):
        ranks = np.unique(key, return_inverse=True)[1] if number == 0 else key
        size = int(ranks.max(initial=0)) + 1
        room *= size
        if room >= 2**63:
            return np.lexsort(keys[::-1])
        merged = merged * size + ranks
    return np.argsort(merged)


def _unlike(first: pa.Array, second: pa.Array) -> Array:
    """bool[n]: whether values differ; nulls are equal to nulls, NaN to NaN, and lists by their values."""
    if hasattr(first.type, "value_type"):
        return _unlike_lists(first, second)
    if pa.types.is_float16(first.type):  # Arrow cannot compare half floats
        first, second = first.cast(pa.float32()), second.cast(pa.float32())
    unlike = pc.fill_null(pc.not_equal(first, second), False).to_numpy(zero_copy_only=False)
    if first.null_count or second.null_count:
        unlike = unlike | (_is_null(first) != _is_null(second))
    if pa.types.is_floating(first.type):
        no_numbers = pc.and_(pc.is_nan(first), pc.is_nan(second))
        unlike = unlike & ~pc.fill_null(no_numbers, False).to_numpy(zero_copy_only=False)
    return unlike


def _unlike_lists(first: pa.Array, second: pa.Array) -> Array:
    """As `_unlike` for lists, which Arrow cannot compare: lists of equal length by their values."""
    sizes, others = (pc.list_value_length(column).fill_null(0).to_numpy() for column in (first, second))
    unlike = (_is_null(first) != _is_null(second)) | (sizes != others)
    compared = ~unlike & ~_is_null(first)
    inside = [pc.list_flatten(column.filter(pa.array(compared))) for column in (first, second)]
    rows = np.repeat(np.flatnonzero(compared), sizes[compared])
    unlike[rows[_unlike(*inside)]] = True
    return unlike


def _is_null(column: pa.Array) -> Array:
    nulls: Array = column.is_null().to_numpy(zero_copy_only=False)
    return nulls
