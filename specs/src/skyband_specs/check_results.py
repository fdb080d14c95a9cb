"""Runs checks of any kind and collects their results."""

from collections.abc import Callable, Iterable
from typing import Any

from skyband.registry.module_import import cause

from skyband_specs.counterexample import Counterexample
from skyband_specs.report import FAILED, PASSED, Report, Result

Progress = Callable[[Result], None]


def result_of(check: Any, run: Callable[[], None], place: str = "") -> Result:
    """The result of a check, which `run` runs; place: where it is run, which a failure names."""
    prefix, snippet = f"{place}: " if place else "", ""
    try:
        run()
    except Counterexample as found:
        reason, snippet = found.reason, found.snippet
    except AssertionError as error:
        reason = str(error)
    except (Exception, SystemExit) as error:  # whatever is tried may raise anything, and that is a failure to report
        reason = cause(error)
    else:
        return Result(check.name, check.group, PASSED)
    return Result(check.name, check.group, FAILED, f"{prefix}{reason}", snippet)


def report_of(name: str, results: Iterable[Result], progress: Progress | None) -> Report:
    """The results, each passed to `progress` as it arrives."""
    collected = []
    for result in results:
        collected.append(result)
        if progress is not None:
            progress(result)
    return Report(name, tuple(collected))
