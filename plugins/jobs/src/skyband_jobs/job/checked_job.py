"""A job that was checked for an engine, with its source open, its SQL parsed and its backends bound.

`skyband check`, runs on any engine and savepoints all start from this one value, so that each step is done once.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen
from skyband.registry import Binding

from skyband_jobs.files.source_files import Files
from skyband_jobs.files.table_source import Table
from skyband_jobs.job.opening import OpenSource
from skyband_jobs.tables.model import Job

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.engines.engine import InProcessEngine, Run
    from skyband.engines.local import LocalRun


@frozen
class CheckedJob(Job):
    """A job in which no problem can be found before its rows are read."""

    path: Path
    """The job file, as the user named it."""
    sets: tuple[str, ...]
    """The changes made by `--set`."""
    open_source: OpenSource
    bindings: Mapping[str, Binding]
    """The backend of each role of the query, chosen by `backends` or the role's default."""
    choices: Sequence[str] = field(default=(), kw_only=True)
    """A table for each role chosen now: its candidates, with what each takes, as lines of text."""

    @property
    def schema(self) -> "pa.Schema | None":
        """The source's columns after `where` and `select`; None where only Spark knows them."""
        return self.open_source.schema

    @property
    def rows(self) -> Files | Table | None:
        """The open source; None where only Spark reads it."""
        return self.open_source.rows

    def begin_here(self) -> "LocalRun":
        """Begin its query in this process, over the columns of `rows` that the query reads."""
        from skyband.engines.local import LocalRun
        from skyband.engines.reference import LocalEngine

        begun = self.begin_on(LocalEngine())
        assert isinstance(begun, LocalRun)
        return begun

    def begin_on(self, engine: "InProcessEngine") -> "Run":
        """Begin its query on another engine of this process."""
        import pyarrow as pa
        from skyband.columns.arrow_normalization import usual_schema

        assert self.schema is not None, "only Spark reads this source"
        schema = usual_schema(pa.schema([self.schema.field(name) for name in self.query.columns]))
        return engine.begin(self.query, self.bindings, schema)
