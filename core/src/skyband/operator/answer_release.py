"""Decides which answers leave an operator, and in which form: all, those at the end of an input, or changes.

It uses the operator's state: withheld answers, and the last answers, from which changes are computed.
"""

import pyarrow as pa
from attrs import define, field

from skyband.arrays import TIME_MIN, Int64
from skyband.operator.bound_query import BoundQuery
from skyband.operator.operator_state import OperatorState


@define(eq=False)
class AnswerRelease:
    """Receives the answers of each step, in order."""

    bound: BoundQuery
    state: OperatorState
    finished: bool = field(default=False, init=False)
    """Whether the last step was a temporary end of the input, and changed what is withheld."""

    def step(self, answers: pa.RecordBatch, before: int | None, finishing: bool) -> pa.RecordBatch:
        """The part of a step's answers, and of withheld ones, that leaves; before: the watermark before the step."""
        withheld, newest = self.state.withheld, self.state.clock.progress.newest
        count, self.finished = len(withheld), False
        if finishing and newest is not None:
            answers = withheld.at_the_end(answers, newest)
            self.finished = count + len(withheld) > 0 or self.state.changes is not None
            return self._at_the_end(answers, newest, before)
        if not self.goes_on(before):
            return self.up_to(None, answers)
        return self.up_to(self.state.watermark, withheld.given_with(answers))

    def finish(self, answers: pa.RecordBatch, latest: int) -> pa.RecordBatch:
        """The answers that leave when an input ends for good, with `latest` as its last time."""
        withheld = self.state.withheld
        answers = withheld.at_the_end(answers, latest) if len(withheld) else answers
        return self._at_the_end(answers, latest, self.state.watermark)

    def goes_on(self, before: int | None) -> bool:
        """Whether a stream finished up to a watermark has since had a row that is not late, or was idle."""
        newest = self.state.clock.progress.newest
        return before is None or (newest is not None and newest >= before) or self.state.watermark != before

    def up_to(self, watermark: int | None, answers: pa.RecordBatch) -> pa.RecordBatch:
        """These answers in the query's form, with all up to a watermark given; None: not even up to one."""
        changes = self.state.changes
        if changes is None:
            return answers
        if not len(answers) + len(changes):
            return self.bound.no_results()
        return changes.take(answers, TIME_MIN if watermark is None else watermark)

    def _at_the_end(self, answers: pa.RecordBatch, latest: int, before: int | None) -> pa.RecordBatch:
        """As `up_to`, at the end of an input with this latest time; before: the watermark without that end."""
        changes = self.state.changes
        if changes is None:
            return answers
        if not len(answers) + len(changes):
            return self.bound.no_results()
        goes_further = before is None or before <= latest
        ended = latest if goes_further and self.state.broadcast is not None else None
        return changes.take(answers, self._answered_at_the_end(latest), ended)

    def _answered_at_the_end(self, latest: int) -> int | Int64:
        """The moment up to which all answers are given once an input with this latest time has ended.

        If time went further, later answers were given then. Rules have their own ends, and a finished stream withholds
        answers after those.
        """
        if latest <= TIME_MIN or self.state.broadcast is not None:
            return max(latest, TIME_MIN)
        following: int | Int64 = self.bound.execution.query.schedule.each_after(latest)
        return following
