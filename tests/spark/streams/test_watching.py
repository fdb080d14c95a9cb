"""The listener of core/docs/run/watching.md writes what the stream observed, and its end."""

import json
import logging
import threading

import pytest
from skyband import spark

from .. import faults
from ..documents import DOCS, blocks

pytestmark = pytest.mark.spark


class Added:
    """The session as the recipe sees it: remembers the listener it adds, and when that was told of an end."""

    def __init__(self, session, added, ended):
        self.streams, self._session, self._added, self._ended = self, session, added, ended

    def addListener(self, listener):
        tell = listener.onQueryTerminated

        def told(event):
            tell(event)
            self._ended.set()

        listener.onQueryTerminated = told
        self._added.append(listener)
        self._session.streams.addListener(listener)


def test_the_listener_logs_every_micro_batch(session, tmp_path, caplog):
    faults.write_source(tmp_path / "source", files=2)
    source = session.readStream.schema(faults.SCHEMA).option("maxFilesPerTrigger", 1)
    answers = spark.apply(source.parquet(str(tmp_path / "source")), faults.QUERY, shards=2).writeStream.format("noop")
    (recipe,) = blocks("run/watching.md", "python")
    added, ended = [], threading.Event()
    with caplog.at_level(logging.INFO, "streams"):
        exec(recipe, {"session": Added(session, added, ended)})
        try:
            writer = answers.queryName("watched").option("checkpointLocation", str(tmp_path / "c"))
            started = writer.trigger(availableNow=True).start()
            started.awaitTermination()
            assert ended.wait(60)
        finally:
            session.streams.removeListener(added[0])
    lines = [json.loads(record.message) for record in caplog.records if record.name == "streams"]
    assert lines[0] == {"stream": "watched", "run": str(started.runId)}
    batches = [line for line in lines if line.get("rows_in")]
    assert [line["rows_in"] for line in batches] == [500, 500]
    assert all(line["state_bytes"] > 0 and line["retained"] > 0 and line["groups"] == 5 for line in batches)
    assert lines[-1] == {"run": str(started.runId), "failed": None}
    page = (DOCS / "run" / "watching.md").read_text("utf-8")
    named = {name for name in batches[0] if not name.startswith(("rows_null", "rows_value"))} - {
        "stream",
        "batch",
        "rows_per_second",
    }
    assert all(f"| {name} |" in page for name in named)
