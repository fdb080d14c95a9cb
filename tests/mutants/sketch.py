"""Broken sketches, one bug each."""

import math
from typing import Self

import numpy as np
from attrs import evolve
from mutants.sketch_references import (
    ADDING,
    BOUNDED,
    EXACT,
    PANES,
    PLAIN,
    Adding,
    Bounded,
    Panes,
    Plain,
    Reference,
)
from skyband import InputError, create
from skyband.arrays import TIME_MIN, Array, Float64, Int64, UInt64
from skyband.roles import KeyBitmap, Sketch
from skyband_specs.faults import Mutant, faulty
from skyband_specs.sketch.streams import spread

REFERENCES = [(EXACT, Reference), (ADDING, Adding), (BOUNDED, Bounded), (PLAIN, Plain), (PANES, Panes)]


class AfterNotSince(Reference):
    """Counts what is later than the moment, not what is at it."""

    def estimate(self, since: int) -> float:
        return super().estimate(since + 1)


class WindowsOfTheFirst(Reference):
    """Together with others, its windows at a moment begin with the first of them."""

    @classmethod
    def counts_together(cls, sketches, times, keys, *, spans, moments, since):
        first = {at: [begins[0]] * len(begins) for at, begins in since.items()}
        return super().counts_together(sketches, times, keys, spans=spans, moments=moments, since=first)


class RefusesHalfway(Reference):
    """Together with others, those before one that is refused have had their rows."""

    @classmethod
    def counts_together(cls, sketches, times, keys, *, spans, moments, since):
        for sketch, (start, stop), own in zip(sketches, np.array(spans).tolist(), moments, strict=True):
            if not len(own):
                sketch.update(times[start:stop], keys[start:stop])
        rest = [(0, 0) if not len(own) else tuple(span) for span, own in zip(np.array(spans), moments, strict=True)]
        return super().counts_together(sketches, times, keys, spans=rest, moments=moments, since=since)


class ForgetsTheLongest(Reference):
    """Together with others, it forgets what only the shortest window does not hold."""

    @classmethod
    def counts_together(cls, sketches, times, keys, *, spans, moments, since):
        counts = super().counts_together(sketches, times, keys, spans=spans, moments=moments, since=since)
        for sketch, own in zip(sketches, moments, strict=True):
            if len(own):
                sketch.forget(max(since[int(own[-1])]))
        return counts


class AddsFirstValues(Adding):
    """A key goes on with the value that it had first."""

    def _update_with_values(self, times: Int64, keys: UInt64, values: Float64) -> None:
        first = dict(self._of)
        super()._update_with_values(times, keys, values)
        self._of |= first


class AddsTheSmallestOfATime(Adding):
    """Of several values at a key's last time the smallest counts."""

    def _update_with_values(self, times: Int64, keys: UInt64, values: Float64) -> None:
        super()._update_with_values(times, keys, -values)

    def _sum_terms(self, since: int, least: float, most: float) -> tuple[Float64, float, float]:
        terms, low, high = super()._sum_terms(since, least, most)
        return -terms, -high, -low


class AddsInAnyOrder(Adding):
    """Rounds after each value."""

    def _sum_terms(self, since: int, least: float, most: float) -> tuple[Float64, float, float]:
        total = float(sum(super()._sum_terms(since, least, most)[0].tolist()))
        return np.array([total]), total, total


class SaysItAdds(Reference):
    """Says that it adds up values, and keeps none."""

    @property
    def adds_values(self) -> bool:
        return True


class BoundsOfASampleTooTight(type(create("sketch", "k-skb"))):  # type: ignore[misc]
    """The bounds of a sum are those of the number of keys alone."""

    def _sum_terms(self, since: int, least: float, most: float) -> tuple[Float64, float, float]:
        terms, low, high = super()._sum_terms(since, least, most)
        return terms, *(terms[0] + (end - terms[0]) / 20 for end in (low, high))


class RoundsToThePane(Panes):
    """A moment inside a pane is taken for the start of the pane."""

    def estimate(self, since: int) -> float:
        return super().estimate(since - since % self.grain)


class ExactToOneLess(Reference):
    """With as many keys as it says to be exact of, one is left out."""

    @property
    def exact_up_to(self) -> int:
        return 90

    def estimate(self, since: int) -> float:
        return super().estimate(since) - (len(self._last) >= self.exact_up_to)


class BitmapOfOneCellMore(type(create("sketch", "pcsa-ml"))):  # type: ignore[misc]
    """Its bitmap takes one cell of the first row for filled that is not."""

    def bitmap(self) -> KeyBitmap | None:
        bitmap = super().bitmap()
        if bitmap is not None:
            estimates = bitmap.estimates
            first = np.arange(bitmap.rows) == 0
            bitmap.estimates = lambda filled: estimates(filled + first)
        return bitmap


class ForgetsOnTies(Reference):
    """A key that comes again at its last time is dropped."""

    def _see(self, key: int, time: int) -> None:
        tie = self._last.get(key) == time
        super()._see(key, time)
        if tie:
            del self._last[key]


class KeepsTheFirstTime(Reference):
    """A key that comes again later still counts from its first time."""

    def _see(self, key: int, time: int) -> None:
        self._last.setdefault(key, time)


class KeepsTheNewestRow(Reference):
    """The last row of a key wins, whatever its time."""

    def _see(self, key: int, time: int) -> None:
        self._last[key] = time


class LosesARowBetweenBlocks(Reference):
    """The row after the first 512 of a batch is in no block."""

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(np.delete(times, slice(512, 513)), np.delete(keys, slice(512, 513)))


class KeepsTheLastByte(Reference):
    """Keys that end alike are one."""

    def _see(self, key: int, time: int) -> None:
        super()._see(key % 2**8, time)


class WrongWhileSmall(Reference):
    """Small counts are one too high, and right in the end."""

    def estimate(self, since: int) -> float:
        return super().estimate(since) + (1 if 0 < len(self._last) < 100 else 0)


class RisesWithSince(Reference):
    """Counts the keys before the moment."""

    def estimate(self, since: int) -> float:
        return len(self._last) - super().estimate(since)


class BornNotEmpty(Reference):
    """An empty sketch answers 1."""

    def estimate(self, since: int) -> float:
        return super().estimate(since) or float(not self._last)


class MinusOneIsNever(Reference):
    """The time −1 stands for none."""

    def _see(self, key: int, time: int) -> None:
        if time != -1:
            super()._see(key, time)


class OverflowingSpan(Reference):
    """Times are kept as differences from the last, in 64 bits."""

    def estimate(self, since: int) -> float:
        span = (self._now or 0) - since
        return super().estimate(since) if span < 2**63 else 0.0


class ForgetsNothing(Reference):
    """What should be forgotten is kept."""

    def forget(self, before: int) -> None:
        pass


class ForgetsOneTooMany(Reference):
    """Forgetting takes what is at the moment, too."""

    def forget(self, before: int) -> None:
        super().forget(before + 1)


class CountsRows(Reference):
    """Each row changes the state, also one that says nothing new."""

    @property
    def rows(self) -> int:
        return getattr(self, "_rows", 0)

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(times, keys)
        self._rows = self.rows + len(times)

    def __len__(self) -> int:
        return self.rows


class MergeReplaces(Reference):
    """The other's times win over one's own."""

    def _merge(self, other: Self) -> None:
        self._last = {**self._last, **other._last}


class MergeForgetsNow(Reference):
    """The moment reached stays one's own."""

    def merge(self, other: Self) -> None:
        now = self._now
        super().merge(other)
        self._now = now


class MergeDependsOnGrouping(Reference):
    """Merged more than once, a sketch drops its smallest key."""

    merges = 0

    def _merge(self, other: Self) -> None:
        super()._merge(other)
        self.merges += 1
        if self.merges > 1:
            del self._last[min(self._last)]


class MergeAdds(Bounded):
    """Merging adds up, so that what both have seen counts twice."""

    surplus = 0.0

    def estimate(self, since: int) -> float:
        count = super().estimate(since)
        return count + self.surplus if count else 0.0

    def _merge(self, other: Self) -> None:
        self.surplus += other.estimate(TIME_MIN) - 1
        super()._merge(other)


class MergeSharesState(Reference):
    """An empty sketch takes over the other's dictionary, and both write to it."""

    def _merge(self, other: Self) -> None:
        if self._last:
            super()._merge(other)
        else:
            self._last = other._last


class MergesAnything(Reference):
    """Any sketch is merged, and nothing is asked."""

    def merge(self, other: Sketch) -> None:
        if isinstance(other, Reference):
            super().merge(other)


class MergesOtherSeeds(Bounded):
    """Sketches with other hash functions are merged."""

    def merge(self, other: Self) -> None:
        self._merge(other)
        self._now = max((now for now in (self._now, other._now) if now is not None), default=None)


class NoMerge(Reference):
    """Does not merge, and does not say so."""

    def _merge(self, other: Self) -> None:
        raise NotImplementedError


class Biased(Bounded):
    """Counts are a seventh too high."""

    def estimate(self, since: int) -> float:
        return super().estimate(since) * 8 / 7


class BiasedWhenSmall(Bounded):
    """Counts up to about 50 are one too high, as a PCSA's without correction."""

    def estimate(self, since: int) -> float:
        count = super().estimate(since)
        return count + 1 if 0 < count < 55 else count


class DeltaTooLarge(Bounded):
    """Every sixth answer is off, by the keys that it came from, where one in twenty may be."""

    def estimate(self, since: int) -> float:
        count = super().estimate(since)
        return count * 2 if int(self._stamps.argmax()) % 6 == 0 else count


class CountsDuplicates(Bounded):
    """A key that came often counts more."""

    rows = 0

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(times, keys)
        self.rows += len(times)

    def estimate(self, since: int) -> float:
        count = super().estimate(since)
        return count * (1 + math.log(max(self.rows, 1) / max(len(self), 1)))


class HashesHalfAKey(Bounded):
    """Its hash takes the lower half of a key."""

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(times, spread((keys & np.uint64(2**32 - 1)).astype(np.int64)))


class HashesTheUpperHalf(Bounded):
    """Its hash takes the upper half of a key."""

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(times, spread((keys >> np.uint64(32)).astype(np.int64)))


class ForgetsASecondAfter(Bounded):
    """Being asked, it forgets what is a second old."""

    def estimate(self, since: int) -> float:
        count = super().estimate(since)
        if self._now is not None:
            self._stamps[self._stamps < self._now - 1_000_000] = TIME_MIN
        return count


class BoundsTooTight(Bounded):
    """The bounds are half as wide as they must be, around an estimate that needs them whole."""

    def estimate(self, since: int) -> float:
        return super().estimate(since) * 1.08

    def bounds(self, since: int) -> tuple[float, float]:
        count = self.estimate(since)
        return count / (1 + self.epsilon / 2), count / (1 - self.epsilon / 2)


class BoundsTooWide(Bounded):
    """The bounds say nothing."""

    def bounds(self, since: int) -> tuple[float, float]:
        return 0.0, 2 * self.estimate(since)


class BoundsUpsideDown(Bounded):
    """High comes before low."""

    def bounds(self, since: int) -> tuple[float, float]:
        low, high = super().bounds(since)
        return high, low


class BoundsOfAnotherMoment(Bounded):
    """Asked together, the bounds are those since the first row."""

    def estimate_with_bounds(self, since: int) -> tuple[float, float, float]:
        return self.estimate(since), *self.bounds(-(2**62))


class KeepsEveryKey(Bounded):
    """Says it is a sketch and keeps all that comes."""

    rows = 0

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(times, keys)
        self.rows += len(times)

    @property
    def nbytes(self) -> int:
        return super().nbytes + 16 * self.rows


class DependsOnOrder(Reference):
    """A key counts only if it is larger than the first one seen, which depends on the order of arrival."""

    first = None

    def _see(self, key: int, time: int) -> None:
        self.first = key if self.first is None else self.first
        if key >= self.first:
            super()._see(key, time)


class TakesTimesBack(Plain):
    """Takes rows of the past though its contract forbids them, and loses its place."""

    def update(self, times: Int64, keys: UInt64) -> None:
        try:
            super().update(times, keys)
        except InputError:
            self._now = int(np.max(times))


class HalfTakenIn(Reference):
    """Keys are taken in before the times beside them are looked at."""

    def update(self, times: Int64, keys: UInt64) -> None:
        if len(keys) and isinstance(keys[0], np.uint64) and self._now is not None:
            self._see(int(keys[0]), self._now)
        super().update(times, keys)


class LosesPendingRows(Reference):
    """Rows wait in a buffer that the snapshot leaves out."""

    def _state(self) -> dict[str, Array]:
        state = super()._state()
        return {**state, "keys": state["keys"][:-1], "last": state["last"][:-1]}


ALL_MERGE = (
    "merged_is_the_sketch_of_the_union",
    "merge_is_commutative",
    "merge_is_associative",
    "merge_adds_nothing_known",
    "merge_leaves_the_other_alone",
    "merge_refuses_other_sketches",
)
ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")
SUMS = ("sums_are_of_the_latest_values",)


class ShortKeys(Reference):
    """Keys are told apart by their low 32 bits."""

    def _see(self, key: int, time: int) -> None:
        super()._see(key % 2**32, time)


class MergesOneKeyAsTheirs(Reference):
    """Where one key is in both, the other sketch's time stands, be it earlier."""

    def _merge(self, other: Self) -> None:
        common = self._last.keys() & other._last.keys()
        super()._merge(other)
        if len(common) == 1:
            self._last.update({key: other._last[key] for key in common})


class AnswersInPlace(Reference):
    """Each estimate is written over the last."""

    def estimate(self, since: int) -> float:
        if not hasattr(self, "_answer"):
            self._answer = np.zeros(())
        self._answer[...] = super().estimate(since)
        return self._answer  # type: ignore[return-value]


MUTANTS: list[Mutant] = [
    (EXACT, ShortKeys, ("odd_streams_equal_the_oracle",)),
    (EXACT, MergesOneKeyAsTheirs, ("merge_with_one_key_in_common",)),
    (EXACT, AnswersInPlace, ("answers_are_the_callers",)),
    *faulty(EXACT, Reference, globals()),
    (EXACT, WindowsOfTheFirst, ("several_together_answer_as_each",)),
    (EXACT, RefusesHalfway, ("several_together_answer_as_each",)),
    (EXACT, ForgetsTheLongest, ("several_together_answer_as_each",)),
    (EXACT, AfterNotSince, (*ORACLE, "since_is_inclusive")),
    (EXACT, ExactToOneLess, ("as_many_keys_as_are_exact",)),
    (EXACT, ForgetsOnTies, ("tiny_streams_equal_the_oracle", "repeated_rows_change_nothing")),
    (EXACT, KeepsTheFirstTime, ORACLE),
    (EXACT, LosesARowBetweenBlocks, ("every_row_of_a_batch_counts",)),
    (EXACT, KeepsTheNewestRow, (*ORACLE, "order_does_not_matter")),
    (EXACT, KeepsTheLastByte, ("seeded_streams_equal_the_oracle", "streams_of_the_paper")),
    (EXACT, WrongWhileSmall, ("tiny_streams_equal_the_oracle", "every_moment_equals_the_oracle")),
    (EXACT, RisesWithSince, ("later_moments_count_less",)),
    (EXACT, BornNotEmpty, ("empty_sketch_counts_nothing",)),
    (EXACT, MinusOneIsNever, ("since_is_inclusive",)),
    (EXACT, OverflowingSpan, ("times_far_apart",)),
    (EXACT, ForgetsNothing, ("forgetting_bounds_memory",)),
    (EXACT, ForgetsOneTooMany, ("forgetting_keeps_what_counts",)),
    (EXACT, CountsRows, ("repeated_rows_change_nothing", "steady_stream_holds_steady_memory")),
    (EXACT, DependsOnOrder, ("order_does_not_matter",)),
    (EXACT, MergeReplaces, ("merge_is_commutative", "merged_is_the_sketch_of_the_union")),
    (EXACT, MergeForgetsNow, ("merge_adds_nothing_known",)),
    (EXACT, MergeDependsOnGrouping, ("merge_is_associative",)),
    (BOUNDED, MergeAdds, ("merge_adds_nothing_known", "merged_is_the_sketch_of_the_union")),
    (EXACT, MergeSharesState, ("merge_leaves_the_other_alone",)),
    (EXACT, MergesAnything, ("merge_refuses_other_sketches",)),
    (BOUNDED, MergesOtherSeeds, ("merge_refuses_other_sketches",)),
    (EXACT, NoMerge, ALL_MERGE),
    (BOUNDED, Biased, ("counts_within_the_declared_bound", "streams_of_the_paper")),
    (BOUNDED, BiasedWhenSmall, ("counts_within_the_declared_bound",)),
    (BOUNDED, DeltaTooLarge, ("counts_within_the_declared_bound",)),
    (BOUNDED, CountsDuplicates, ("streams_of_the_paper", "repeated_rows_change_nothing")),
    (BOUNDED, HashesHalfAKey, ("every_bit_of_a_key_counts",)),
    (BOUNDED, HashesTheUpperHalf, ("every_bit_of_a_key_counts",)),
    (BOUNDED, ForgetsASecondAfter, ("asking_changes_nothing",)),
    (BOUNDED, BoundsTooTight, ("bounds_hold_the_truth",)),
    (BOUNDED, BoundsTooWide, ("bounds_hold_the_truth",)),
    (BOUNDED, BoundsOfAnotherMoment, ("one_call_agrees_with_two",)),
    (BOUNDED, BoundsUpsideDown, ("bounds_hold_the_truth",)),
    (BOUNDED, KeepsEveryKey, ("new_keys_do_not_pile_up",)),
    (PANES, RoundsToThePane, ("bad_input_leaves_no_trace",)),
    (PLAIN, TakesTimesBack, ("bad_input_leaves_no_trace",)),
    (EXACT, HalfTakenIn, ("bad_input_leaves_no_trace",)),
    (ADDING, AddsFirstValues, SUMS),
    (ADDING, AddsTheSmallestOfATime, SUMS),
    (ADDING, AddsInAnyOrder, SUMS),
    (EXACT, SaysItAdds, SUMS),
    (BOUNDED, BoundsOfASampleTooTight, ("sums_lie_within_their_bounds",)),
    (BOUNDED, BitmapOfOneCellMore, ("a_bitmap_tells_what_the_sketch_does",)),
    (EXACT, LosesPendingRows, ("restored_is_the_same", "restored_goes_on_as_undisturbed")),
    (evolve(EXACT, lacks={"merge": "it says"}), Reference, ALL_MERGE),
    (evolve(EXACT, lacks={"out-of-order": "it says"}), Reference, ("order_does_not_matter",)),
    (evolve(EXACT, lacks={"any-since": "it says"}), Reference, ("since_is_inclusive", "times_far_apart")),
    (evolve(PANES, lacks={}), Panes, ("since_is_inclusive", "times_far_apart")),
    (evolve(PLAIN, lacks={"snapshot": "plain"}), Plain, ("order_does_not_matter", *ALL_MERGE)),
]
