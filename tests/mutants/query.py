"""Broken queries: each is the query of `skyband new --query` but for one fault, with the checks that catch it."""

from typing import ClassVar
from weakref import WeakSet

import numpy as np
import pyarrow as pa
from attrs import define, evolve
from skyband.columns.keyed_frames import PART
from skyband.config.parameters import flag
from skyband.errors import InputError, SnapshotError
from skyband.groups.partitioning import Partitioning
from skyband.queries.query import Input
from skyband.roles.sharding import PROBE
from skyband_specs.scaffold.query_plugin.examples import EXAMPLES
from skyband_specs.scaffold.query_plugin.query import MineQuery, SumsExecution, _Sums

REFERENCE = (MineQuery, EXAMPLES)


class _OfFloats(_Sums):
    def collect(self):
        answers = super().collect()
        return None if answers is None else answers.set_column(1, "sum", answers.column(1).cast(pa.float64()))


class _OneRowABatch(_Sums):
    def update(self, times, rows):
        super().update(times, rows)
        self._values[len(self._values) - len(times) + 1 :] = 0


class _Counting(_Sums):
    updates = 0

    def update(self, times, rows):
        super().update(times, rows)
        self.updates += 1

    def dump_state(self):
        header, arrays = super().dump_state()
        return {**header, "updates": self.updates}, arrays


class _Early(_Sums):
    def advance(self, rows, until):
        return super().advance(rows, until + self._every)


class _EndsTooSoon(_Sums):
    def end(self, latest):
        return latest + 1


class _SaysTheSameAgain(_Sums):
    def take_dropped(self):
        return {"null value": 1000}


class _Shared(_Sums):
    total = 0

    def update(self, times, rows):
        super().update(times, rows)
        _Shared.total += len(times)

    def answer(self, at):
        super().answer(at)
        self._answers[-1] = (at, _Shared.total)


class _NeverEmpty(_Sums):
    @property
    def empty(self):
        return False


class _Remembers(_Sums):
    """Knows every row that was ever there."""

    def __init__(self, *rest):
        super().__init__(*rest)
        self._ever = {}

    def update(self, times, rows):
        super().update(times, rows)
        self._ever |= {f"row at {time}": len(self._ever) for time in times.tolist()}


class _Forgetful(_Sums):
    def load_state(self, header, arrays):
        super().load_state(header, arrays)
        self._times, self._values = self._times[:-1], self._values[:-1]


class _RoundsUp(_Sums):
    def load_state(self, header, arrays):
        super().load_state(header, arrays)
        self._times, self._values = np.append(-1, self._times), np.append(0, self._values)


class _RefusesAtItsTurn(_Sums):
    """Refuses numbers that the query let pass."""

    def update(self, times, rows):
        if (np.abs(rows["value"]) > 2**40).any():
            raise InputError("value", "is too much", 0)
        super().update(times, rows)


class _Of(MineQuery):
    """A query answered by another processor."""

    answered_by = f"{__name__}:_OfExecution"
    processors: ClassVar[type[_Sums]]


class _OfExecution(SumsExecution):
    def processor(self, bindings, answers):
        return self.query.processors(self.query, answers)


def _answered_by(processor):
    return type(f"Mine{processor.__name__}", (_Of,), {"processors": processor, "__doc__": processor.__name__})


class ReadsTheFirstRow(MineQuery):
    def encode_columns(self, batch):
        batch.column(self.value)[0]
        return super().encode_columns(batch)


class ReadsByPlace(MineQuery):
    def answer_fields(self, schema):
        return [pa.field("at", schema.field(0).type), *super().answer_fields(schema)[1:]]


class LooksForItsGroupsInTheSource(MineQuery):
    def answer_fields(self, schema):
        for name in self.by:
            schema.field(name)
        return super().answer_fields(schema)


class ChecksNothing(MineQuery):
    def check(self, schema):
        return []


class TakesAnyType(MineQuery):
    def inputs(self):
        return (Input("value", self.value, "anything", lambda kind: True),)


class EqualsNone(MineQuery):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class HasNoOrder(MineQuery):
    ties = ()


class CountsNoRow(MineQuery):
    def encode_columns(self, batch):
        columns, masks = super().encode_columns(batch)
        return {**columns, PART: pa.array(np.full(len(batch), PROBE, np.int8))}, masks


class TakesNulls(MineQuery):
    def encode_columns(self, batch):
        return super().encode_columns(batch)[0], {}


class NamesNoReason(MineQuery):
    def encode_columns(self, batch):
        columns, masks = super().encode_columns(batch)
        return columns, {"no reason": masks["null value"]}


class OtherWithGroups(MineQuery):
    answered_by = f"{__name__}:_OtherWithGroups"


class _OtherWithGroups(SumsExecution):
    def processor(self, bindings, answers):
        query = self.query
        return _Sums(evolve(query, every=query.window) if query.by else query, answers)


class MergesTheLargest(MineQuery):
    answered_by = f"{__name__}:_MergesTheLargest"


class _MergesTheLargest(SumsExecution):
    def merge(self, answers):
        sums = answers.group_by("at").aggregate([("sum", "max")])
        return sums.rename_columns(["at", "sum"]).select(answers.column_names)


class GoesToEveryShard(MineQuery):
    answered_by = f"{__name__}:_GoesToEveryShard"


class _GoesToEveryShard(SumsExecution):
    def partition(self, frame, shards):
        rows = np.tile(np.arange(len(frame)), shards)
        return Partitioning(rows, np.repeat(np.arange(shards), len(frame)))


class TrustsItsRows(MineQuery):
    """A column of its frames is a place, which nobody looks at where it comes out of a state."""

    answered_by = f"{__name__}:_TrustsItsRows"

    def encode_columns(self, batch):
        columns, masks = super().encode_columns(batch)
        return {**columns, "place": pa.array(np.zeros(len(batch), np.int64))}, masks


class _TrustsItsRows(SumsExecution):
    def processor(self, bindings, answers):
        return _ReadsByThePlace(self.query, answers)


class TrustsItsRowsByGroup(TrustsItsRows):
    """The same where rows are of groups, and a look where they are not."""

    def check_frame(self, frame):
        super().check_frame(frame)
        if not self.by and (frame.column("place").to_numpy() != 0).any():
            raise SnapshotError("contradicts itself: a row has another place than 0")


class _ReadsByThePlace(_Sums):
    def update(self, times, rows):
        np.zeros(1)[rows["place"]]
        super().update(times, rows)


class BlamesTooMany(MineQuery):
    """Refuses numbers beyond 2**40, and with each the row after it."""

    def encode_columns(self, batch):
        values = batch.column(self.value).fill_null(1).to_numpy(zero_copy_only=False)
        beyond = np.flatnonzero(np.abs(values) > 2**40)
        if len(beyond):
            rows = np.minimum(np.append(beyond, beyond + 1), len(batch) - 1)
            raise InputError(self.value, "is too much", int(beyond[0]), rows=np.unique(rows))
        return super().encode_columns(batch)


class LooksFromTheSecondRow(MineQuery):
    """Refuses numbers beyond 2**40, except in the first row of a batch."""

    def encode_columns(self, batch):
        values = batch.column(self.value).fill_null(1).to_numpy(zero_copy_only=False)
        beyond = np.flatnonzero(np.abs(values[1:]) > 2**40) + 1
        if len(beyond):
            raise InputError(self.value, "is too much", int(beyond[0]), rows=beyond)
        return super().encode_columns(batch)


class BlamesTheTime(MineQuery):
    """Refuses numbers beyond 2**40, and names the time."""

    def encode_columns(self, batch):
        values = batch.column(self.value).fill_null(1).to_numpy(zero_copy_only=False)
        beyond = np.flatnonzero(np.abs(values) > 2**40)
        if len(beyond):
            raise InputError(self.time, "is too much", int(beyond[0]), rows=beyond)
        return super().encode_columns(batch)


class CountsNoBatchOfNulls(MineQuery):
    def encode_columns(self, batch):
        columns, masks = super().encode_columns(batch)
        return columns, {reason: mask & (not mask.all()) for reason, mask in masks.items()}


class LeavesOutTheOldestRow(_Sums):
    """Windows do not hold the row that is just as old as they are long."""

    def __init__(self, query, answers):
        super().__init__(query, answers)
        self._window -= 1


@define(eq=True)
class HasAKeyOfItsOwn(MineQuery):
    """No example gives `twice`."""

    twice: bool = flag(False, help="whether to add each value twice")


class _ForgetsAKeyByGroup(SumsExecution):
    def processor(self, bindings, answers):
        query = self.query
        return _Twice(query, answers) if query.twice and not query.by else _Sums(query, answers)


class _Twice(_Sums):
    def update(self, times, rows):
        super().update(times, {"value": 2 * rows["value"]})


class ForgetsAKeyByGroup(HasAKeyOfItsOwn):
    """Without `by` its key counts."""

    answered_by = f"{__name__}:_ForgetsAKeyByGroup"


class _FewAtOnce(_Sums):
    """Of more than a hundred none is made but answers nothing."""

    alive: ClassVar[WeakSet[_Sums]] = WeakSet()

    def __init__(self, query, answers):
        super().__init__(query, answers)
        self._is_lost = len(self.alive) > 100
        self.alive.add(self)

    def answer(self, at):
        super().answer(at)
        if self._is_lost:
            self._answers.pop()


_TWICE = tuple(evolve(one, keys={**one.keys, "twice": True}, oracle=None) for one in EXAMPLES)
_NO_DELAY = tuple(evolve(one, keys={**one.keys, "delay": "0 seconds"}) for one in EXAMPLES)

MUTANTS = [
    (_answered_by(LeavesOutTheOldestRow), EXAMPLES, ["answers_are_those_of_the_oracle"]),
    (HasAKeyOfItsOwn, EXAMPLES, ["each_key_is_given_by_an_example"]),
    (
        ForgetsAKeyByGroup,
        _TWICE,
        ["one_group_is_answered_as_all_rows_are", "a_group_is_answered_as_if_alone"],
    ),
    (_answered_by(_FewAtOnce), EXAMPLES, ["each_of_many_groups_has_the_answers_of_one"]),
    (_answered_by(_OfFloats), EXAMPLES, ["answers_have_the_declared_columns"]),
    (ReadsTheFirstRow, EXAMPLES, ["an_empty_input_has_no_answers"]),
    (ReadsByPlace, EXAMPLES, ["only_its_columns_are_read"]),
    (ChecksNothing, EXAMPLES, ["a_missing_column_is_told", "a_column_of_another_type_is_told"]),
    (TakesAnyType, EXAMPLES, ["a_column_of_another_type_is_told"]),
    (EqualsNone, EXAMPLES, ["the_query_travels"]),
    (_answered_by(_OneRowABatch), EXAMPLES, ["batches_may_be_cut_anywhere"]),
    (_answered_by(_Counting), EXAMPLES, ["state_is_the_same_however_rows_were_cut"]),
    (_answered_by(_Early), EXAMPLES, ["answers_wait_for_the_watermark", "batches_may_be_cut_anywhere"]),
    (_answered_by(_EndsTooSoon), EXAMPLES, ["flush_answers_as_the_end_does"]),
    (HasNoOrder, EXAMPLES, ["rows_may_be_shuffled_within_the_delay", "a_bounded_input_may_come_in_any_order"]),
    (MineQuery, _NO_DELAY, ["the_example_has_no_late_rows"]),
    (CountsNoRow, EXAMPLES, ["late_rows_are_counted_and_change_nothing"]),
    (TakesNulls, EXAMPLES, ["nulls_are_left_out_and_counted"]),
    (NamesNoReason, EXAMPLES, ["nulls_are_left_out_and_counted"]),
    (BlamesTooMany, EXAMPLES, ["bad_rows_are_put_aside_as_if_they_had_not_come"]),
    (LooksFromTheSecondRow, EXAMPLES, ["bad_rows_are_put_aside_as_if_they_had_not_come"]),
    (BlamesTheTime, EXAMPLES, ["bad_rows_are_put_aside_as_if_they_had_not_come"]),
    (CountsNoBatchOfNulls, EXAMPLES, ["nulls_are_left_out_and_counted"]),
    (
        _answered_by(_RefusesAtItsTurn),
        EXAMPLES,
        ["rows_that_a_query_takes_are_refused_by_no_backend"],
    ),
    (_answered_by(_SaysTheSameAgain), EXAMPLES, ["every_row_is_counted_once"]),
    (_answered_by(_Shared), EXAMPLES, ["a_group_is_answered_as_if_alone"]),
    (LooksForItsGroupsInTheSource, EXAMPLES, ["groupings_are_answered_as_if_each_were_alone"]),
    (OtherWithGroups, EXAMPLES, ["one_group_is_answered_as_all_rows_are"]),
    (_answered_by(_NeverEmpty), EXAMPLES, ["a_group_is_forgotten_when_its_windows_are_empty"]),
    (_answered_by(_Remembers), EXAMPLES, ["new_names_are_forgotten"]),
    (_answered_by(_NeverEmpty), EXAMPLES, ["new_groups_are_forgotten"]),
    (MergesTheLargest, EXAMPLES, ["shards_answer_as_one_does"]),
    (GoesToEveryShard, EXAMPLES, ["shards_answer_as_one_does", "each_row_is_one_shards_own"]),
    (_answered_by(_Forgetful), EXAMPLES, ["goes_on_from_a_snapshot_after_any_row", "groups_go_on_from_a_snapshot"]),
    (_answered_by(_RoundsUp), EXAMPLES, ["a_restored_state_is_the_state"]),
    (TrustsItsRows, EXAMPLES, ["mutated_states_and_logs_are_refused_or_work"]),
    (TrustsItsRowsByGroup, EXAMPLES, ["mutated_states_and_logs_are_refused_or_work"]),
]
