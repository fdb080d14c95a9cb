"""An engine as jobs see it: what it can read and write, and how it runs a job."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from skyband.engines.engine import Engine
from skyband.errors import ConfigError, Problem

if TYPE_CHECKING:
    from skyband_jobs.job.checked_job import CheckedJob
    from skyband_jobs.job.progress import Progress, Totals
    from skyband_jobs.tables.model import Sink, Source


class JobEngine(Engine):
    """An engine that runs jobs itself. `skyband_jobs.job.checking` checks what holds on every engine."""

    batches: ClassVar[bool] = True
    """Whether it runs jobs whose source ends, rather than streams only."""
    resumes: ClassVar[bool]
    """Whether a stopped stream resumes from its checkpoint."""
    in_process: ClassVar[bool]
    """Whether rows are read and answered in this process, whose memory may be limited."""
    shards: ClassVar[bool]
    """Whether several operators share the work, as set by a job's `shards`."""

    knows_all_sql: ClassVar[bool]
    """Whether `where` and `select` may be any SQL, rather than only the part that Skyband parses itself."""

    own_tables: ClassVar[Mapping[str, type]] = {}
    """Tables that this engine adds to a job, by name: attrs classes whose init fields are the keys.

    The first line of a class's docstring says what its table is for. Other engines accept the table too, and ignore it.
    A job on this engine has it in `own`, with the defaults where its file has none.
    """

    @abstractmethod
    def source_problems(self, source: "Source", zone: str | None) -> list[Problem]:
        """Problems with what this engine reads; `zone` is the session's time zone."""

    def reader(self, job: "CheckedJob") -> str | None:  # noqa: ARG002
        """The reader of the job's files and the reason, where there is a choice."""
        return None

    @abstractmethod
    def sink_problems(self, sink: "Sink", stream: bool | None) -> list[Problem]:
        """Problems with what this engine writes; stream: None where the source could not be built."""

    def query_problems(self, query: Any, tables: Mapping[str, Any]) -> list[Problem]:  # noqa: ARG002
        """Problems with running a query on this engine, with the job's other tables."""
        return []

    def problems_of_tasks(self, sink: "Sink", rows: str) -> list[Problem]:  # noqa: ARG002
        """Problems with tasks that write rows of this name themselves, in addition to `sink_problems`."""
        return []

    @abstractmethod
    def foreign_files(self, folder: Path, suffix: str) -> tuple[list[Path], str]:
        """The files in a sink's folder that overwriting must not touch, and the reason."""

    def check_belong(self, checkpoint: Path, folder: Path) -> None:
        """Raise ConfigError if a stream that resumed from this checkpoint would lose or hide answers in a folder."""

    def chosen_before(self, sink: "Sink") -> Mapping[str, Any]:  # noqa: ARG002
        """By role, the `limits` and the `backend` that they chose when the stream with this sink started."""
        return {}

    def session_findings(self, job: "CheckedJob | None") -> tuple[str, bool]:  # noqa: ARG002
        """Start a session, with a job's settings if there is one, and report whether it has what this engine needs.

        Returns a line for each requirement, and whether all are met. Raises ConfigError if the engine has no session.
        """
        raise ConfigError(Problem("--session", f"the engine {self.name!r} has no session to check: use --engine spark"))

    @abstractmethod
    def run(self, job: "CheckedJob", progress: "Progress", savepoint: Path | None = None) -> "Totals":
        """Run a job that was checked for this engine, optionally a new stream from a savepoint.

        Raises EngineError where the engine cannot run, ConfigError where the job does not fit its source or sink, and
        InputError where a row cannot be read.
        """
