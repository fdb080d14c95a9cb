"""Runs the examples of the pages and gives what they print."""

import contextlib
import io
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen


@frozen
class Ran:
    """What a program printed, and why it stopped where it failed."""

    output: str
    fault: str | None = None


def run_program(program: str) -> Ran:
    """Run a Python program in this process."""
    from skyband.registry.module_import import cause

    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "<example>", "exec"), {"__name__": "__main__"})
    except (Exception, SystemExit) as error:  # a backend's own fault is what the page then says
        return Ran(printed.getvalue(), cause(error))
    return Ran(printed.getvalue())


def run_steps(steps: Iterable[str], names: Mapping[str, Any]) -> Ran:
    """Run statements as an interactive session shows them, each with what it gives; `names` are there already."""
    from skyband.registry.module_import import cause

    output = io.StringIO()
    namespace = dict(names)
    for step in steps:
        first, *others = step.splitlines()
        output.write("\n".join([f">>> {first}", *(f"... {line}" for line in others)]) + "\n")
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(step, "<example>", "single"), namespace)
        except (Exception, SystemExit) as error:  # a backend's own fault is what the page then says
            return Ran(output.getvalue(), cause(error))
    return Ran(output.getvalue())


def run_job_text(job: str, rows: Mapping[str, str], backends: Mapping[str, str] | None = None) -> Ran:
    """What `skyband run job.toml --engine local` prints, `rows` being files beside it; `backends`: as for `--set`."""
    from skyband.errors import ConfigError
    from skyband_jobs.running.progress import Progress
    from skyband_jobs.running.run import run_job

    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**rows, "job.toml": job}.items():
            (Path(folder) / name).write_text(text, "utf-8")
        sets = [f"backends.{role}={backend}" for role, backend in (backends or {}).items()]
        try:
            with contextlib.redirect_stdout(printed):
                run_job(Path(folder) / "job.toml", sets, engine="local", progress=Progress(io.StringIO()))
        except ConfigError as error:  # without the place, which is nowhere for long
            return Ran(printed.getvalue(), "; ".join(map(str, error.problems)))
    return Ran(printed.getvalue())
