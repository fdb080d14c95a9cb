"""Prints a comparison as a table, in plain text outside terminals; a failed backend is a red row with its cause."""

import sys
from typing import IO

from skyband import text_tables

from skyband_compare.comparison import number_format
from skyband_compare.comparison.results import Case, Comparison, Entry, latency, most

_COST = ("retained", "bytes", "snapshot", "rows/s", "rows/s alone", "median", "p99", "first call")

_STYLES = {"backend": "bold", "": "dim"}
_LEAST_TELLING = (
    "rows/s alone", "snapshot", "first call", "F1", "guarantee", "p99", "largest", "retained", "within low and high",
    "median",
)  # fmt: skip


def show(comparison: Comparison, out: IO[str] | None = None) -> None:
    """Write every case: its title, then a row per backend."""
    stream = sys.stdout if out is None else out
    for number, case in enumerate(comparison.cases):
        if number:
            print(file=stream)
        _write(case, stream)


def headers(case: Case) -> list[str]:
    """The columns of a case's table, with those of its kind of query between the error and the costs."""
    return ["backend", "guarantee", "error", *_of_kind(case), *_COST, ""]


def cells(case: Case, entry: Entry) -> list[str]:
    """A backend's row, empty if it failed."""
    measured, binding = entry.measured, entry.measured.binding
    if measured.failed is not None or binding is None:
        return [entry.label, *[""] * (len(headers(case)) - 2), f"failed: {measured.failed}"]
    accuracy = entry.accuracy
    error = [""] * (1 + len(_of_kind(case)))
    if accuracy is not None:
        largest = {"largest": accuracy.largest} if "largest" in _of_kind(case) else {}
        error = [number_format.share(accuracy.error)]
        error += [number_format.share({**largest, **accuracy.figures}[name]) for name in _of_kind(case)]
    return [
        entry.label,
        binding.info.guarantee,
        *error,
        number_format.count(most(measured.retained)),
        number_format.size(most(measured.nbytes)),
        number_format.size(measured.snapshot_bytes),
        number_format.rate(measured.rate),
        number_format.rate(measured.own_rate),
        number_format.seconds(latency(measured, 50)),
        number_format.seconds(latency(measured, 99)),
        number_format.seconds(measured.first_call),
        note(case, entry),
    ]


def note(case: Case, entry: Entry) -> str:
    """Remarks on a backend's figures."""
    remarks = ["reference"] if entry.is_reference else []
    if entry.measured.stopped:
        remarks.append(f"stopped after {entry.measured.rows / case.rows:.0%} of the rows")
    return "; ".join(remarks)


def explained(case: Case) -> str:
    """The meaning of the columns."""
    remarks = [f"latency: of a {case.moment}"]
    measures = {entry.accuracy.measure for entry in case.entries if entry.accuracy is not None}
    remarks = [f"error: {measure}, compared with {case.reference.label}" for measure in sorted(measures)] + remarks
    remarks += ["rows/s alone: without the operator around the backend", "first call: its extra time, once per process"]
    return "; ".join(remarks)


def _of_kind(case: Case) -> list[str]:
    for entry in case.entries:
        if entry.accuracy is not None:
            names = list(entry.accuracy.figures)
            return names if "F1" in names else ["largest", *names]
    return []


def _write(case: Case, out: IO[str]) -> None:
    head, rows = headers(case), [cells(case, entry) for entry in case.entries]
    flush = [0 < place < len(head) - 1 and place != 1 for place in range(len(head))]
    if not text_tables.is_terminal(out):
        print(text_tables.visible(case.title), file=out)
        text_tables.table(head, rows, out, flush=flush)
        print(explained(case), file=out)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, width=text_tables.width(out))
    console.print(Text(text_tables.visible(case.title), style="bold"))
    measured = [row for row, entry in zip(rows, case.entries, strict=True) if entry.measured.failed is None]
    missing = text_tables.table(head, measured, out, _STYLES, _LEAST_TELLING, flush) if measured else []
    for row in rows:
        if row not in measured:
            console.print(Text(text_tables.visible(f"{row[0]}  {row[-1]}"), style="red"))
    console.print(Text(explained(case), style="dim"))
    if missing:
        console.print(Text(f"no room for {', '.join(missing)}: --json and --html show every column", style="dim"))
