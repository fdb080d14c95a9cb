"""Which answers leave an operator, and as what: all, those that the end of an input has, or the changes that they make.

It decides over what the operator's state keeps: answers withheld, and the last ones, of which changes are told.
"""

import pyarrow as pa
from attrs import define, field

from skyband.arrays import TIME_MIN, Int64
from skyband.operator.bound_query import BoundQuery
from skyband.operator.operator_state import OperatorState


@define(eq=False)
class AnswerRelease:
    """Given the answers of each turn, in order."""

    bound: BoundQuery
    state: OperatorState
    finished: bool = field(default=False, init=False)
    """The last step was the end of the input for now, and touched what is withheld."""

    def step(self, answers: pa.RecordBatch, before: int | None, finishing: bool) -> pa.RecordBatch:
        """What of a step's answers, and of those withheld, leaves; before: the watermark before the step."""
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
        """What leaves where an input ends for good, `latest` its last time."""
        withheld = self.state.withheld
        answers = withheld.at_the_end(answers, latest) if len(withheld) else answers
        return self._at_the_end(answers, latest, self.state.watermark)

    def goes_on(self, before: int | None) -> bool:
        """Whether a stream that was finished up to a watermark had a row since that was not late, or was idle."""
        newest = self.state.clock.progress.newest
        return before is None or (newest is not None and newest >= before) or self.state.watermark != before

    def up_to(self, watermark: int | None, answers: pa.RecordBatch) -> pa.RecordBatch:
        """These answers as the query gives them, with which all up to a watermark were given; None: up to none."""
        changes = self.state.changes
        if changes is None:
            return answers
        if not len(answers) + len(changes):
            return self.bound.no_results()
        return changes.take(answers, TIME_MIN if watermark is None else watermark)

    def _at_the_end(self, answers: pa.RecordBatch, latest: int, before: int | None) -> pa.RecordBatch:
        """The same at the end of an input with this latest time; before: the watermark without that end."""
        changes = self.state.changes
        if changes is None:
            return answers
        if not len(answers) + len(changes):
            return self.bound.no_results()
        goes_further = before is None or before <= latest
        ended = latest if goes_further and self.state.broadcast is not None else None
        return changes.take(answers, self._answered_at_the_end(latest), ended)

    def _answered_at_the_end(self, latest: int) -> int | Int64:
        """Up to which moment all answers are given once an input with this latest time has ended.

        Where time had gone on further, what is later was told then. Rules have ends of their own, and a stream that is
        finished withholds answers later than those.
        """
        if latest <= TIME_MIN or self.state.broadcast is not None:
            return max(latest, TIME_MIN)
        following: int | Int64 = self.bound.execution.query.schedule.each_after(latest)
        return following
