"""Runs the examples of the pages and returns their output."""

import contextlib
import io
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen


@frozen
class Ran:
    """The output of a program, and the error if it failed."""

    output: str
    fault: str | None = None


def run_program(program: str) -> Ran:
    """Run a Python program in this process."""
    from skyband.registry.module_import import cause

    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "<example>", "exec"), {"__name__": "__main__"})
    except (Exception, SystemExit) as error:  # the page then shows the backend's error
        return Ran(printed.getvalue(), cause(error))
    return Ran(printed.getvalue())


def run_steps(steps: Iterable[str], names: Mapping[str, Any]) -> Ran:
    """Run statements like an interactive session, each with its output, with `names` predefined."""
    from skyband.registry.module_import import cause

    output = io.StringIO()
    namespace = dict(names)
    for step in steps:
        first, *others = step.splitlines()
        output.write("\n".join([f">>> {first}", *(f"... {line}" for line in others)]) + "\n")
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(step, "<example>", "single"), namespace)
        except (Exception, SystemExit) as error:  # the page then shows the backend's error
            return Ran(output.getvalue(), cause(error))
    return Ran(output.getvalue())


def run_job_text(job: str, rows: Mapping[str, str], backends: Mapping[str, str] | None = None) -> Ran:
    """The output of `skyband run job.toml --engine local` with the files `rows` beside it; `backends` as in `--set`."""
    from skyband.errors import ConfigError
    from skyband_jobs.job.progress import Progress
    from skyband_jobs.programs.run import run_job

    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**rows, "job.toml": job}.items():
            (Path(folder) / name).write_text(text, "utf-8")
        sets = [f"backends.{role}={backend}" for role, backend in (backends or {}).items()]
        try:
            with contextlib.redirect_stdout(printed):
                run_job(Path(folder) / "job.toml", sets, engine="local", progress=Progress(io.StringIO()))
        except ConfigError as error:  # without the place, a temporary folder
            return Ran(printed.getvalue(), "; ".join(map(str, error.problems)))
    return Ran(printed.getvalue())
