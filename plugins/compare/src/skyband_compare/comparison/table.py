"""Prints a comparison as tables that fit the terminal; a failed backend is a red line with its cause."""

import sys
from collections.abc import Sequence
from typing import IO

from skyband import text_tables

from skyband_compare.comparison import number_format
from skyband_compare.comparison.results import Case, Comparison, Entry, latency, most

_COST = ("retained", "bytes", "snapshot", "rows/s", "rows/s alone", "median", "p99", "first call")

_STYLES = {"backend": "bold", "": "dim"}


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


def explained(case: Case) -> list[str]:
    """The meaning of the columns, one each."""
    measures = {entry.accuracy.measure for entry in case.entries if entry.accuracy is not None}
    remarks = [f"error: {measure}, compared with {case.reference.label}" for measure in sorted(measures)]
    if "in bounds" in _of_kind(case):
        remarks.append("in bounds: answers between their low and high")
    remarks += ["rows/s alone: without the operator around the backend", f"median, p99: latency of a {case.moment}"]
    return [*remarks, "first call: its extra time, once per process"]


def _of_kind(case: Case) -> list[str]:
    for entry in case.entries:
        if entry.accuracy is not None:
            names = list(entry.accuracy.figures)
            return names if "F1" in names else ["largest", *names]
    return []


def _write(case: Case, out: IO[str]) -> None:
    on_terminal = text_tables.is_terminal(out)
    _print(case.title, out, "bold", on_terminal)
    head = headers(case)
    measured = [cells(case, entry) for entry in case.entries if entry.measured.failed is None]
    for places in _side_by_side(head, measured, text_tables.width()) if measured else []:
        flush = [1 < place < len(head) - 1 for place in places]
        rows = [[row[place] for place in places] for row in measured]
        text_tables.table([head[place] for place in places], rows, out, _STYLES, flush=flush)
        print(file=out)
    for entry in case.entries:
        if entry.measured.failed is not None:
            _print(f"{entry.label}  failed: {entry.measured.failed}", out, "red", on_terminal)
    for remark in explained(case):
        _print(remark, out, "dim", on_terminal)


def _side_by_side(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """The columns with content, in groups that fit the width after the first column, which each group repeats."""
    first, *wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    groups: list[list[int]] = [[0]]
    used = first
    for place, size in enumerate(wide, 1):
        if used + 2 + size > width and len(groups[-1]) > 1:
            groups.append([0])
            used = first
        if size:
            groups[-1].append(place)
            used += 2 + size
    return groups


def _print(line: str, out: IO[str], style: str, on_terminal: bool) -> None:
    line = text_tables.visible(line)
    if not on_terminal:
        print(line, file=out)
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=out, width=text_tables.width()).print(Text(line, style=style))
