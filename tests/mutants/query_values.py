"""Broken queries that are right about the rows of the example, and wrong about other values, times and types."""

import numpy as np
import pyarrow as pa
from mutants.query import EXAMPLES, MineQuery, _answered_by, _Sums
from skyband.errors import InputError


class AddsShortNumbers(MineQuery):
    """Numbers are cut to 32 bits."""

    def encode_columns(self, batch):
        columns, masks = super().encode_columns(batch)
        return {**columns, "value": columns["value"].cast(pa.int32(), safe=False).cast(pa.int64())}, masks


class KeepsShortNumbers(_Sums):
    """The same, in its state."""

    def dump_state(self):
        header, arrays = super().dump_state()
        return header, {**arrays, "values": arrays["values"].astype(np.int32).astype(np.int64)}


class BeginsIn1970(_Sums):
    """What was before 1970 is in no window."""

    def answer(self, at):
        valid = self._times >= 0
        self._times, self._values = self._times[valid], self._values[valid]
        super().answer(at)


class CountsNothing(_Sums):
    """Says that it retains nothing."""

    @property
    def retained(self):
        return 0


class ReadsOneType(MineQuery):
    """Takes whole numbers of any width, and reads those of 64 bits."""

    def encode_columns(self, batch):
        values = batch.column(self.value)
        if values.type != pa.int64():
            nothing = pa.array(np.zeros(len(values), np.int64), mask=values.is_null().to_numpy(zero_copy_only=False))
            batch = batch.set_column(batch.schema.names.index(self.value), self.value, nothing)
        return super().encode_columns(batch)


class RefusesABatch(MineQuery):
    """Refuses numbers beyond 2**40, and names no row where a batch has no others."""

    def encode_columns(self, batch):
        values = batch.column(self.value).fill_null(1).to_numpy(zero_copy_only=False)
        beyond = np.flatnonzero(np.abs(values) > 2**40)
        if len(beyond):
            rows = {} if len(beyond) == len(batch) else {"row": int(beyond[0]), "rows": beyond}
            raise InputError(self.value, "is too much", **rows)
        return super().encode_columns(batch)


MUTANTS = [
    (AddsShortNumbers, EXAMPLES, ["answers_are_those_of_the_oracle"]),
    (_answered_by(BeginsIn1970), EXAMPLES, ["answers_are_those_of_the_oracle"]),
    (_answered_by(KeepsShortNumbers), EXAMPLES, ["goes_on_from_a_snapshot_after_any_row"]),
    (_answered_by(CountsNothing), EXAMPLES, ["a_group_is_forgotten_when_its_windows_are_empty"]),
    (ReadsOneType, EXAMPLES, ["columns_of_each_type_it_takes_are_answered_alike"]),
    (RefusesABatch, EXAMPLES, ["bad_rows_are_put_aside_as_if_they_had_not_come"]),
]
