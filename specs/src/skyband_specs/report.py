"""The report of a conformance run, as text for people and JSON for programs."""

import json
from collections import Counter
from typing import Any

import attrs
from attrs import frozen

PASSED, NOT_APPLICABLE, FAILED = OUTCOMES = ("passed", "not applicable", "failed")


@frozen
class Result:
    """The result of one check; `snippet` is code that reproduces the failure, if there is a stream."""

    check: str
    group: str
    outcome: str
    reason: str = ""
    snippet: str = ""


@frozen
class Report:
    """The results of every check of the role, in order."""

    backend: str
    results: tuple[Result, ...]

    @property
    def ok(self) -> bool:
        """Whether something was tried and nothing failed."""
        return bool(self.results) and not any(result.outcome == FAILED for result in self.results)

    def counts(self, group: str | None = None) -> dict[str, int]:
        """Checks by outcome, of all groups or of one."""
        outcomes = Counter(result.outcome for result in self.results if group in (None, result.group))
        return {outcome: outcomes[outcome] for outcome in OUTCOMES}

    def groups(self) -> list[str]:
        """The groups that have checks, in order."""
        return list(dict.fromkeys(result.group for result in self.results))

    def summary(self) -> str:
        """One line: `41 passed, 6 not applicable (merge), 0 failed`."""
        counts = self.counts()
        reasons = dict.fromkeys(
            result.reason.partition(":")[0] for result in self.results if result.outcome == NOT_APPLICABLE
        )
        why = f" ({', '.join(reasons)})" if reasons else ""
        return f"{counts[PASSED]} passed, {counts[NOT_APPLICABLE]} not applicable{why}, {counts[FAILED]} failed"

    def text(self) -> str:
        """One line per group, then each failure with its reason and snippet, each reason once, then the summary."""
        lines = [f"{self.backend}: {len(self.results)} checks"]
        width = max(map(len, self.groups()), default=0)
        for group in self.groups():
            phrases = [f"{count} {outcome}" for outcome, count in self.counts(group).items() if count]
            lines.append(f"  {group:<{width}}  {', '.join(phrases)}")
        for result in self.results:
            if result.outcome == FAILED:
                lines += ["", f"FAILED {result.group}: {result.check}", *self._problem_lines(result)]
        return "\n".join([*lines, "", self.summary()])

    def _problem_lines(self, result: Result) -> list[str]:
        """Why a check failed; later failures with the same reason name the first."""
        first = next(one for one in self.results if one.outcome == FAILED and one.reason == result.reason)
        if first is not result:
            return [f"    as {first.check} did"]
        return [_indented(result.reason), *(["", _indented(result.snippet)] if result.snippet else [])]

    def as_json(self) -> str:
        """The whole report."""
        groups = {group: self.counts(group) for group in self.groups()}
        body: dict[str, Any] = {"backend": self.backend, "ok": self.ok, "counts": self.counts(), "groups": groups}
        return json.dumps({**body, "results": [attrs.asdict(result) for result in self.results]}, indent=2)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
