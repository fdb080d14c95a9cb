"""A job that was checked for an engine, with all that this took: its source open, its SQL parsed, its backends bound.

`skyband check`, a run on any engine and savepoints go on from this one value, so that each is done once.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen
from skyband.registry import Binding

from skyband_jobs.files.source_files import Files
from skyband_jobs.files.table_source import Table
from skyband_jobs.job.model import Job
from skyband_jobs.job.opening import OpenSource

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.engines.engine import InProcessEngine, Run
    from skyband.engines.local import LocalRun


@frozen
class CheckedJob(Job):
    """A job with which nothing is wrong, as far as can be seen before its rows are read."""

    path: Path
    """The file it was read from, as it was named."""
    sets: tuple[str, ...]
    """What `--set` changed in it."""
    open_source: OpenSource
    bindings: Mapping[str, Binding]
    """For each role of the query, the backend that `backends` or the role's default name."""

    @property
    def schema(self) -> "pa.Schema | None":
        """Of the source, after `where` and `select`; None where only Spark can tell."""
        return self.open_source.schema

    @property
    def rows(self) -> Files | Table | None:
        """The source, open; None where only Spark reads it."""
        return self.open_source.rows

    def begin_here(self) -> "LocalRun":
        """Its query, about to run in this process over the columns of `rows` that it reads."""
        from skyband.engines.local import LocalRun
        from skyband.engines.reference import LocalEngine

        begun = self.begin_on(LocalEngine())
        assert isinstance(begun, LocalRun)
        return begun

    def begin_on(self, engine: "InProcessEngine") -> "Run":
        """The same on another engine of this process."""
        import pyarrow as pa
        from skyband.columns.arrow_normalization import usual_schema

        assert self.schema is not None, "of a source that only Spark reads"
        schema = usual_schema(pa.schema([self.schema.field(name) for name in self.query.columns]))
        return engine.begin(self.query, self.bindings, schema)
