"""An engine as a job sees it: what it can read and write, and how it runs a job."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from skyband.engines.engine import Engine
from skyband.errors import Problem

if TYPE_CHECKING:
    from skyband_jobs.job.checked_job import CheckedJob
    from skyband_jobs.job.model import Sink, Source
    from skyband_jobs.running.progress import Progress, Totals


class JobEngine(Engine):
    """An engine that runs jobs itself. What holds on every engine is checked by `skyband_jobs.job.checking`."""

    resumes: ClassVar[bool]
    """Whether a stopped stream goes on from its checkpoint."""
    in_process: ClassVar[bool]
    """Whether rows are read and answered in this process, whose memory may be limited."""
    shards: ClassVar[bool]
    """Whether several operators share the work, as `shards` of a job says."""

    knows_all_sql: ClassVar[bool]
    """Whether `where` and `select` may be any SQL, and not the part alone that Skyband reads itself."""

    @abstractmethod
    def source_problems(self, source: "Source", zone: str | None) -> list[Problem]:
        """What this engine cannot read; `zone` is that of the session."""

    def reader(self, job: "CheckedJob") -> str | None:  # noqa: ARG002
        """Who reads the job's files, and why, where there is a choice."""
        return None

    @abstractmethod
    def sink_problems(self, sink: "Sink", stream: bool | None) -> list[Problem]:
        """What this engine cannot write; stream: None where the source could not be built."""

    def query_problems(self, query: Any, tables: Mapping[str, Any]) -> list[Problem]:  # noqa: ARG002
        """What this engine cannot run of a query, with the job's other tables."""
        return []

    def problems_of_tasks(self, sink: "Sink", rows: str) -> list[Problem]:  # noqa: ARG002
        """Why its tasks cannot write rows of this name, of which only they know, beside what `sink_problems` says."""
        return []

    @abstractmethod
    def foreign_files(self, folder: Path, suffix: str) -> tuple[list[Path], str]:
        """The files of a sink's folder that overwriting must not touch, and why not."""

    def check_belong(self, checkpoint: Path, folder: Path) -> None:
        """Raise ConfigError where a stream that went on from this checkpoint would lose or hide answers in a folder."""

    @abstractmethod
    def run(self, job: "CheckedJob", progress: "Progress", savepoint: Path | None = None) -> "Totals":
        """Run a job that was checked for this engine; a stream that is new, from a savepoint.

        Raises EngineError where the engine cannot run, ConfigError where the job does not fit its source or sink, and
        InputError where a row cannot be taken.
        """
