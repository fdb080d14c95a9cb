"""The problems of a job, each with where it was written: in the file, or on the command line."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from skyband.config.redaction import redact
from skyband.errors import NO_TABLE, ConfigError, InputError, Problem, SkybandError


class JobError(ConfigError):
    """A job that cannot be run. Each line names the file, or `--set` where the mistake was typed there."""

    names_places: ClassVar[bool] = True

    def __init__(self, place: str, *problems: Problem, typed: Iterable[str] = ()) -> None:
        super().__init__(*map(_without_secrets, problems))
        self.place = place
        self.typed = tuple(typed)

    def __str__(self) -> str:
        return "\n".join(f"{self._place(problem)}: {problem}" for problem in self.problems)

    def __reduce__(self) -> Any:
        return _job_error, (self.place, self.problems, self.typed)

    def _place(self, problem: Problem) -> str:
        field = f"{problem.field}.".replace("[", ".[")
        is_typed = any(field.startswith(f"{key}.") for key in self.typed)
        is_table_typed = problem.code == NO_TABLE and any(key.startswith(field) for key in self.typed)
        return "--set" if is_typed or is_table_typed else self.place


@contextmanager
def secrets_hidden() -> Iterator[None]:
    """Remove a job's secrets from Skyband's exceptions and their causes: a program may show or log them."""
    try:
        yield
    except SkybandError as error:
        current: BaseException | None = error
        passed: set[int] = set()
        while current is not None and id(current) not in passed:  # a chain may contain a cycle
            passed.add(id(current))
            current.args = tuple(redact(entry) if isinstance(entry, str) else entry for entry in current.args)
            if isinstance(current, ConfigError):
                current.problems = tuple(map(_without_secrets, current.problems))
            elif isinstance(current, InputError):
                current.message = redact(current.message)
            current = current.__cause__
        raise


def _without_secrets(problem: Problem) -> Problem:
    return Problem(problem.field, redact(problem.message), problem.code)


def _job_error(place: str, problems: tuple[Problem, ...], typed: tuple[str, ...]) -> JobError:
    return JobError(place, *problems, typed=typed)
