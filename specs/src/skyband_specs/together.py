"""Turns of several backends in one call, for the checks of roles that have such a call."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from skyband import InputError
from skyband.arrays import Array, Int64

from skyband_specs.batching import visible
from skyband_specs.check import Make, expect_equal
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

SEVERAL = 4
"""The number of backends that take turns together."""

_ROUNDS = 4

_LATER = 10
"""How long after the last row moments may be."""


class OwnTurn(NamedTuple):
    """One backend's turn."""

    stream: Stream
    """All its rows."""
    start: int
    stop: int
    """The rows of this turn, possibly none."""
    moments: Int64
    """int64[q] to answer, ascending, possibly none."""


class TurnsTogether(ABC):
    """How backends of a role take their turns, alone and together."""

    @abstractmethod
    def columns(self, backend: Any, stream: Stream, start: int, stop: int) -> Sequence[Array | None]:
        """Rows start..stop in the backend's form, times first."""

    @abstractmethod
    def moments(self, backend: Any, times: Int64, until: int) -> Int64:
        """int64[q], ascending: moments to answer while it takes rows at these times, at most `until`."""

    @abstractmethod
    def alone(self, backend: Any, columns: Sequence[Array | None], moments: Int64) -> list[Any]:
        """Its answers, one entry each."""

    @abstractmethod
    def together(
        self, backends: list[Any], columns: Sequence[Array | None], spans: Any, moments: list[Int64]
    ) -> list[Any]:
        """The answers of several in one call, one backend after the other."""

    def expect_as_each(self, make: Make, case: Case, stream: Stream) -> None:
        """Backends that share a call answer like those called alone, and are then in the same state.

        In some turns one has no rows, or no moments. A refused turn leaves all of them unchanged.
        """
        each, several = [make() for _ in range(SEVERAL)], [make() for _ in range(SEVERAL)]
        for turns in self._rounds(each[0], stream):
            self._expect_refusal(case, several, turns)
            expected = [
                answer
                for backend, turn in zip(each, turns, strict=True)
                for answer in self.alone(backend, self.columns(backend, *turn[:3]), turn.moments)
            ]
            expect_equal(self._by_one_call(several, turns), expected, "answers of several in one call")
            for one, (alike, backend, turn) in enumerate(zip(each, several, turns, strict=True)):
                got = visible(case, backend, turn.stream, turn.stop)
                expect_equal(
                    got, visible(case, alike, turn.stream, turn.stop), f"backend {one} after a turn with others"
                )

    def _rounds(self, backend: Any, stream: Stream) -> Iterator[list[OwnTurn]]:
        owners = np.arange(len(stream)) * 7 % 11 % SEVERAL
        parts = [stream.take(np.flatnonzero(owners == one)) for one in range(SEVERAL)]
        ends = [0] * SEVERAL
        for number in range(_ROUNDS):
            turns = []
            for one, part in enumerate(parts):
                start = ends[one]
                ends[one] = start if (one, number) == (1, 2) else len(part) * (number + 1) // _ROUNDS
                times: Any = self.columns(backend, part, start, len(part))[0]
                rows = ends[one] - start
                until = int(times[rows]) if rows < len(times) else int(times[-1]) + _LATER
                some = rows and one != number
                moments = self.moments(backend, times[:rows], until) if some else np.empty(0, np.int64)
                turns.append(OwnTurn(part, start, ends[one], moments))
            yield turns

    def wrong_turns(self, backend: Any, turn: OwnTurn) -> Iterator[tuple[str, Any, Any]]:
        """What it must refuse instead of a turn: a description, times of the rows, and moments."""
        times: Any = self.columns(backend, *turn[:3])[0]
        moments, far = turn.moments, 10**6 * getattr(backend, "grain", 1)
        if len(times) > 1 or (len(times) and turn.start):
            yield "a time that goes back", np.append(times[:-1], times[-1] - far), moments
        if len(times) and turn.start:
            yield "times before now", times - far, moments
        if len(moments):
            if moments[0] < moments[-1]:
                yield "moments that go back", times, moments[::-1]
            if turn.start:
                yield "moments before now", times, moments - far

    def _by_one_call(self, backends: list[Any], turns: list[OwnTurn], last: tuple[Any, Any] | None = None) -> list[Any]:
        """last: times and moments of the last backend, instead of its own."""
        parts = [list(self.columns(backend, *turn[:3])) for backend, turn in zip(backends, turns, strict=True)]
        moments = _moments(turns)
        if last is not None:
            parts[-1][0], moments[-1] = last
        columns = [None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)]
        spans = list(pairwise(accumulate((turn.stop - turn.start for turn in turns), initial=0)))
        return self.together(backends, columns, spans, moments)

    def _expect_refusal(self, case: Case, backends: list[Any], turns: list[OwnTurn]) -> None:
        """Check that faults in the last backend's turn are refused."""
        faults = [*self.wrong_turns(backends[-1], turns[-1])]
        before = [_visible(case, one, turn) for one, turn in zip(backends, turns, strict=True) if faults]
        for fault, times, moments in faults:
            try:
                self._by_one_call(backends, turns, (times, moments))
            except InputError:
                continue
            raise AssertionError(f"{fault}: was accepted in the turn of one of several")
        after = [_visible(case, one, turn) for one, turn in zip(backends, turns, strict=True) if faults]
        named = ", ".join(fault for fault, _, _ in faults)
        expect_equal(after, before, f"several backends after calls refused for {named}")


def _visible(case: Case, backend: Any, turn: OwnTurn) -> Any:
    return visible(case, backend, turn.stream, turn.start)


def _moments(turns: list[OwnTurn]) -> list[Int64]:
    """The moments of each; the same array where they are equal, as from an operator."""
    apart = {turn.moments.tobytes(): turn.moments for turn in turns}
    return [apart[turn.moments.tobytes()] for turn in turns]
