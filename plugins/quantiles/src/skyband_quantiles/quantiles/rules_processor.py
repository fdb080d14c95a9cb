"""One group's stream of quantiles with rules, which its sketch answers."""

from skyband.arrays import Int64
from skyband.columns.rows import Rows
from skyband.rules.rule_moments import Moments
from skyband.rules.rules_processor import AnsweringRules

from skyband_quantiles.quantiles.processor import QuantilesProcessor, answer_columns
from skyband_quantiles.sketch_answers import Answers


class RulesProcessor(AnsweringRules, QuantilesProcessor):
    """Keeps what any window up to `longest` needs. A rule is answered while its own window has rows."""

    def ask(self, times: Int64, rows: Rows, moments: Moments) -> None:
        times, values = self._in_order(times, (rows if len(times) else self.no_rows)["value"])
        answers = Answers.room(len(moments.at), 1, len(self._at), len(self._above))
        for start, stop, places in moments.with_rows(times):
            if stop > start:
                self._backend.update(times[start:stop], values[start:stop])
            for place in places:
                self._answer(answers, moments, place)
        if answers.rows.any():
            labels = {**self._labels, "rule": self._rules.names, "window": self._rules.windows}
            self._pending.append(answer_columns(self._schema, labels, moments.at, answers, moments.rule))

    def _answer(self, answers: Answers, moments: Moments, place: int) -> None:
        """Write the answer of a rule at a moment, once all rows before it are added."""
        at, _, since, _ = moments.row(place)
        self._backend.advance(at)
        if self.needs_answers:
            answers.rows[place, 0] = int(self._backend.count(since)[0])
        if answers.rows[place, 0]:
            answers.values[place, 0] = self._backend.quantiles(since, self._at)
            answers.shares[place, 0] = self._backend.shares(since, self._above)
