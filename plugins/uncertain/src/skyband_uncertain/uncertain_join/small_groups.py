"""Small groups of uncertain-join: the tuples in the windows of each group's sides, with their samples."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64, UInt64, read_only
from skyband.columns.column_ops import Column, pick
from skyband.columns.integer_ids import integers_of, is_integer_id
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried, carried_values
from skyband.columns.values_by_id import ValuesInUse
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, as_batch
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.groups.small_groups.host import Promoted, SmallGroupAnswers, SmallGroups
from skyband.groups.small_groups.per_row import NO_KEYS, SmallGroupsPerRow
from skyband.kernels.sorted_arrays import distinct
from skyband.queries.composite_ids import several
from skyband.roles.matcher import SUM_SLACK
from skyband.windows.window_parameters import closed_length

from skyband_uncertain.joint_samples import EUCLIDEAN, in_order
from skyband_uncertain.joint_samples_kernels import scale_for
from skyband_uncertain.time_and_change_windows import DeltaWindow
from skyband_uncertain.uncertain_join.small_groups_kernels import TIED, GroupSpans, join_rows
from skyband_uncertain.uncertain_join.tuples import Tuples
from skyband_uncertain.uncertain_tuples import Samples, existence_and_means, samples_of

if TYPE_CHECKING:
    from skyband_uncertain.tuple_windows import TupleWindow
    from skyband_uncertain.uncertain_join.processor import JoinProcessor
    from skyband_uncertain.uncertain_join.query import UncertainJoin

_SAMPLES = 8
"""The samples per tuple in the largest small group: all are compared with each other."""
_COLUMNS = ("side", "code", "chance", "time", "samples")
_MOST = float(np.finfo(np.float64).max)


class SmallUncertainJoins(SmallGroupsPerRow):
    """Groups of at most `most` tuples on both sides: 21 bytes per tuple, plus carried columns, and 16 per sample.

    If floats cannot decide whether a tuple is dropped, temporary windows of the backend do.
    """

    def __init__(
        self, most: int, query: "UncertainJoin", answers: pa.Schema, processor: Callable[[], "JoinProcessor"]
    ) -> None:
        self._most, self._schema, self._processor = most, answers, processor
        self._sides = 1 if query.side is None else 2
        self._beta, self._size = query.beta, query.size or 0
        epsilon, distance = query.nearness
        self._distance = epsilon, scale_for(epsilon), distance == EUCLIDEAN
        self._limit = float(max(1 - Fraction(query.alpha), Fraction(query.beta)))
        self._length = -1 if query.window is None else closed_length(query.window)
        delta, distance = query.change
        change = DeltaWindow(delta, query.alpha, coordinates=query.coordinates, distance=distance)
        self._shift = *change.limits(), query.alpha
        window = {"chance": np.float64} if self._size else {"time": np.int64}
        kinds = [answers.field(f"left_{name}").type for name in (*several(query.id), *query.carry)]
        self._several = len(several(query.id))
        """How many of the first columns to carry make up the id; 0 if it is one column."""
        self._carried = {carried(place): kind for place, kind in enumerate(kinds)}
        columns = {"side": np.int8, "code": np.int64, "samples": np.int32, **window, **self._carried}
        super().__init__(SmallGroupEntries(columns))
        self._coordinates = [f"value.{place}" if place else "value" for place in range(query.coordinates)]
        self._samples = SmallGroupEntries(dict.fromkeys((*self._coordinates, "probability"), np.float64))
        self._kind = pa.int64() if self._several else answers.field("left").type
        self._values = None if is_integer_id(self._kind) else ValuesInUse(self._kind)

    def take(self, keys: UInt64, starts: Int64, stops: Int64, rows: Rows) -> SmallGroupAnswers:
        tuples = self._arrived(rows)
        if self._values is not None:
            self._values.learn(tuples.code, rows["name"])
        size, held = self._entries.parts(keys)
        sample_size, held_samples = self._samples.parts(keys)
        places = np.arange(int(size.sum()) + len(rows))  # the kernel's ids: first the tuples held, then the rows
        columns = (tuples.side, places[len(places) - len(rows) :], tuples.chance, tuples.time, tuples.counts)
        samples = tuples.samples
        tuples_of_each, cuts = size + stops - starts, samples.offsets
        samples_of_each = sample_size + cuts[stops] - cuts[starts]
        rooms = [int(one) for each in (tuples_of_each, samples_of_each) for one in (each.sum(), each.max())]
        sizes, sample_sizes, grown, kept, matches = join_rows(
            GroupSpans(np.cumsum(size) - size, size, np.cumsum(sample_size) - sample_size, starts, stops), tuple(rooms),
            _kernel_columns(held, places), self._points_of(held_samples), columns,
            samples.offsets, (samples.points(), samples.probabilities), self._sides, self._distance, self._beta,
            self._size, self._limit, self._length, self._shift, self._most, self._most * _SAMPLES,
        )  # fmt: skip
        codes = np.concatenate([held["code"], tuples.code])
        both = [
            column if not len(held[name]) else pa.concat_arrays([held[name], column])
            for name, column in zip(self._carried, tuples.carried, strict=True)
        ]
        side, stay, *rest = kept[0]
        entries = self._named((side, codes[stay], *rest), [column.take(pa.array(stay)) for column in both])
        points, weights = kept[1]
        kept_samples = dict(zip(self._samples.columns, [*points, weights], strict=True))
        promoted = self._promoted(keys, grown, stops, rows, sizes, sample_sizes, (entries, kept_samples))
        tied = []
        for group in np.flatnonzero(grown == TIED).tolist():
            own = np.arange(starts[group], stops[group])
            tied.append(self._tied(int(keys[group]), tuples.of_rows(own), rows.slice(starts[group], stops[group])))
        stays, untied = grown == -1, grown != TIED
        self._put(self._entries, keys[untied], np.where(stays, sizes, 0)[untied], entries, np.repeat(stays, sizes))
        self._put(
            self._samples, keys[untied], np.where(stays, sample_sizes, 0)[untied], kept_samples,
            np.repeat(stays, sample_sizes),
        )  # fmt: skip
        matched, left, right, probability = matches
        owner = np.searchsorted(starts, matched, side="right") - 1
        pair = [[column.take(pa.array(side)) for column in both] for side in (left, right)]
        ids = [one[: self._several] or [self._ids(codes[side])] for one, side in zip(pair, (left, right), strict=True)]
        further = [column for one in pair for column in one[self._several :]]
        found = AnswerColumns(self._schema, [rows.times[matched], *ids[0], *ids[1], probability, *further])
        answers, owners = [found] if len(found) else [], [keys[owner]]
        for key, given, others in tied:
            answers += given
            owners.append(np.full(sum(map(len, given)), key, np.uint64))
            promoted += others
        if self._values is not None:
            self._values.keep(self._entries.column("code"), lazily=True)
        return SmallGroupAnswers(as_batch(answers) if answers else None, np.concatenate(owners), NO_KEYS, promoted)

    def _arrived(self, rows: Rows) -> Tuples:
        """The tuples of rows, with their samples in the order of summation."""
        existence, _ = existence_and_means(rows)
        samples = samples_of(rows)
        if (np.diff(samples.offsets) > 1).any():
            points, weights = in_order(samples)
            samples = Samples(samples.offsets, points[0], weights, tuple(points[1:]))
        sides = rows["side"] if self._sides == 2 else np.zeros(len(rows), np.int8)
        samples = Samples(read_only(samples.offsets), samples.values, read_only(samples.probabilities), samples.further)
        codes, times = read_only(rows["code"]), read_only(rows.times)
        behind = [carried_values(rows, place, kind) for place, kind in enumerate(self._carried.values())]
        return Tuples(read_only(sides), codes, read_only(existence), times, samples, behind)

    def _points_of(self, samples: Mapping[str, Column]) -> tuple[Float64, Float64]:
        """Coordinates, float64[d, n], and probabilities."""
        return np.stack([samples[name] for name in self._coordinates]), samples["probability"]

    def _named(self, columns: tuple[Array, ...], behind: list[pa.Array]) -> dict[str, Column]:
        named: dict[str, Column] = dict(zip(_COLUMNS, columns, strict=True))
        named |= zip(self._carried, behind, strict=True)
        return {name: named[name] for name in self._entries.columns}

    def _put(
        self, into: SmallGroupEntries, keys: UInt64, sizes: Int64, columns: Mapping[str, Column], left: Array
    ) -> None:
        all_left = left.all()
        into.put(keys, sizes, columns if all_left else {name: pick(column, left) for name, column in columns.items()})

    def _ids(self, codes: Int64) -> pa.Array | Int64:
        """The ids of tuples in answers."""
        if self._values is not None:
            return self._values.lookup(codes)
        return integers_of(codes, self._kind) if self._kind == pa.uint64() else codes

    def _promoted(
        self, keys: UInt64, grown: Int64, stops: Int64, rows: Rows, sizes: Int64, sample_sizes: Int64, kept: Any
    ) -> list[Promoted]:
        """The groups with too many tuples or samples, each with the rows not taken in."""
        ends, sample_ends, leaving = np.cumsum(sizes), np.cumsum(sample_sizes), []
        for group in np.flatnonzero(grown >= 0).tolist():
            own = slice(ends[group] - sizes[group], ends[group])
            own_samples = slice(sample_ends[group] - sample_sizes[group], sample_ends[group])
            tuples = self._tuples(*({name: column[part] for name, column in columns.items()}
                                    for columns, part in zip(kept, (own, own_samples), strict=True)))  # fmt: skip
            leaving.append(Promoted(int(keys[group]), self._own(tuples), rows.slice(grown[group], stops[group])))
        return leaving

    def _tuples(self, entries: Mapping[str, Column], samples: Mapping[str, Array]) -> Tuples:
        offsets = np.concatenate([[0], np.cumsum(entries["samples"], dtype=np.int64)])
        points, weights = self._points_of(samples)
        own = Samples(offsets, points[0], weights, tuple(points[1:]))
        times = entries.get("time", np.zeros(len(offsets) - 1, np.int64))
        behind = [entries[name] for name in self._carried]
        return Tuples(entries["side"], entries["code"], entries.get("chance", own.existence()), times, own, behind)

    def _own(self, tuples: Tuples) -> "JoinProcessor":
        """A processor with these tuples in its windows."""
        ids = self._ids(tuples.code)
        named = ids if isinstance(ids, pa.Array) else integers_of(ids, self._kind)
        return self._processor().begin_with(tuples, [*([] if self._several else [named]), *tuples.carried])

    def _tied(self, key: int, arrived: Tuples, rows: Rows) -> tuple[int, list[AnswerColumns], list[Promoted]]:
        """Answer a group's rows with a processor, and keep its windows' tuples, or the processor if outgrown."""
        keys = np.array([key], np.uint64)
        tuples = self._tuples(self._entries.part(key), self._samples.part(key))
        entries = [
            _Kept.after(window, tuples, arrived, side) for side, window in enumerate(self._processor().windows)
        ]  # by the window of each side
        many, samples = (sum(each) for each in zip(*((one.tuples, one.samples) for one in entries), strict=True))
        grown = np.flatnonzero((many > self._most) | (samples > self._most * _SAMPLES))
        stop = int(grown[0]) + 1 if len(grown) else len(rows)
        given = self._own(tuples).arrive(rows.slice(0, stop))
        answers = [] if given is None else [given]
        left = tuples.and_also(arrived).of_rows(np.concatenate([one.places(stop - 1) for one in entries]))
        if len(grown):
            self._entries.remove(keys)
            self._samples.remove(keys)
            return key, answers, [Promoted(key, self._own(left), rows.slice(stop, len(rows)))]
        named = self._named((left.side, left.code, left.chance, left.time, left.counts), left.carried)
        self._entries.put(keys, np.array([len(left.code)]), named)
        points = dict(zip(self._coordinates, left.samples.points(), strict=True))
        weights = left.samples.probabilities
        self._samples.put(keys, np.array([len(weights)]), {**points, "probability": weights})
        return key, answers, []

    def absorb(self, other: SmallGroups, keys: UInt64) -> None:
        super().absorb(other, keys)
        assert isinstance(other, SmallUncertainJoins)
        self._samples.absorb(other._samples, keys)
        if self._values is not None and other._values is not None:
            codes = distinct(self._entries.column("code"))
            codes = codes[other._values.knows(codes)]
            self._values.learn(codes, other._values.lookup(codes))

    def dump_state(self) -> dict[str, Array]:
        entries, samples = super().dump_state(), self._samples.dump_state()
        names = {}
        if self._values is not None:
            names = state_arrays.frame_to_array("names", self._values.frame(self._entries.column("code")))
        return {**entries, **state_arrays.with_prefix("samples", samples), **names}

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        entries, owners = self._entries.load_state(arrays, self._most)
        sides = entries.column("side", np.int8, len(owners), at_least=0, at_most=self._sides - 1)
        fine = (sides[1:] >= sides[:-1]) | (owners[1:] != owners[:-1])
        entries.require(bool(fine.all()), "side", "must be ascending within a group")
        counts = entries.column("samples", np.int32, len(owners), at_least=0)
        if self._size:
            entries.column("chance", np.float64, len(owners), at_least=0, at_most=1)
        else:
            times = entries.column("time", np.int64, len(owners))
            fine = (times[1:] >= times[:-1]) | (sides[1:] != sides[:-1]) | (owners[1:] != owners[:-1])
            entries.require(bool(fine.all()), "time", "must be ascending on each side of a group")
        most = self._most * _SAMPLES
        samples, theirs = self._samples.load_state(state_arrays.without_prefix("samples", arrays), most)
        for name in self._coordinates:
            samples.column(name, np.float64, len(theirs), at_least=-_MOST, at_most=_MOST)
        weights = samples.column("probability", np.float64, len(theirs), at_least=0, at_most=1)
        _, sizes = self._samples.lookup(self._entries.key)
        per_group = np.bincount(owners, counts, minlength=len(sizes)).astype(np.int64)
        if not (per_group == sizes).all() or int(sizes.sum()) != len(theirs):
            raise SnapshotError("is inconsistent: samples: must be as many as the tuples of each group have")
        sums = np.bincount(np.repeat(np.arange(len(counts)), counts), weights)
        samples.require(not (sums > 1.0 + SUM_SLACK).any(), "probability", "must sum to at most 1 per tuple")
        if self._values is not None:
            self._values.load_state(state_arrays.frame_from_array("names", arrays, self._values.no_names()))


def _kernel_columns(columns: Mapping[str, Column], places: Int64) -> tuple[Array, ...]:
    """The tuple columns that the kernel reads, with their places instead of ids."""
    by_name: dict[str, Column] = {"chance": np.empty(0), "time": np.empty(0, np.int64), **columns}
    return tuple((by_name | {"code": places[: len(columns["code"])]})[name] for name in _COLUMNS)


class _Kept(NamedTuple):
    """The tuples that a side's window keeps after each arrival of both sides."""

    all: Int64
    """The side's tuples among those held and arrived."""
    start: Int64
    """int64[n]: the first tuple of `all` kept after each arrival; `stop`: one past the last."""
    stop: Int64
    tuples: Int64
    """int64[n]: the number of tuples kept, and of their samples."""
    samples: Int64

    @classmethod
    def after(cls, window: "TupleWindow[Any]", held: Tuples, arrived: Tuples, side: int) -> "_Kept":
        """Computed with a window that has none of the side's tuples yet."""
        own = arrived.side == side
        before = np.flatnonzero(held.side == side)
        window.append(held.time[before], held.samples, held.chance[before])
        starts = np.append(window.start, window.append(arrived.time[own], arrived.samples, arrived.chance[own]))
        everyone = np.concatenate([before, len(held.code) + np.flatnonzero(own)])
        start, stop = starts[np.cumsum(own)], len(before) + np.cumsum(own)
        counts = np.append(0, np.cumsum(np.concatenate([held.counts, arrived.counts])[everyone], dtype=np.int64))
        return cls(everyone, start, stop, stop - start, counts[stop] - counts[start])

    def places(self, row: int) -> Int64:
        """The tuples kept after an arrival."""
        return self.all[self.start[row] : self.stop[row]]
