"""`skyband run --log json`: everything on stderr is one object per line."""

import io
import json
import logging
import sys

from skyband.cli.json_lines import logging_as_json
from skyband.config import redaction


def lines(ran):
    return [json.loads(line) for line in ran.stderr.splitlines()]


def test_a_batch_ends_with_its_figures(folder):
    ran = folder.call("run", folder.job, "--engine", "local", "--log", "json")
    assert ran.exit_code == 0, ran.stderr
    *_, done = lines(ran)
    assert list(done)[:7] == ["time", "level", "logger", "message", "job", "kind", "engine"]
    assert done["time"].endswith("+00:00")
    assert (done["level"], done["logger"], done["message"]) == ("INFO", "skyband.run", "done")
    assert (done["job"], done["kind"], done["engine"]) == ("job", "distinct-count", "local")
    assert (done["rows_in"], done["rows_null_item"], done["answers"]) == (60, 3, len(folder.answers()))
    assert "micro_batches" not in done


def test_a_stream_has_a_line_for_each_micro_batch(folder):
    changes = ("source.stream=true", "source.options.maxFilesPerTrigger=1", "sink.trigger=available-now")
    sets = [part for change in changes for part in ("--set", change)]
    ran = folder.call("run", folder.job, "--engine", "local", "--log", "json", *sets)
    assert [line["rows_in"] for line in lines(ran) if line["message"] == "micro-batch"] == [20, 40, 60]


def test_what_is_wrong_is_a_line_too(folder):
    ran = folder.call("run", folder.job, "--engine", "local", "--log", "json", "--set", "query.itme=x")
    assert ran.exit_code == 1
    (line,) = lines(ran)
    assert (line["level"], line["logger"]) == ("ERROR", "skyband.cli")
    assert "query.itme" in line["message"]


def test_without_answers_a_warning_says_what_to_do(folder):
    """Rows arrived, but a window contains none of them."""
    sets = ["source.stream=true", "query.every=10 days", "query.windows=['10 days']", "sink.trigger=available-now"]
    changes = [part for change in sets for part in ("--set", change)]
    ran = folder.call("run", folder.job, "--engine", "local", "--log", "json", *changes)
    assert [line["message"] for line in lines(ran) if line["level"] == "WARNING"] == [
        "there are no answers yet: no row is new enough to end a window; "
        "source.finish = true answers the last windows at the end of a run"
    ]


def test_logs_of_libraries_are_lines_without_secrets(monkeypatch):
    monkeypatch.setattr(redaction, "_hidden_texts", set())
    redaction.hide(["hunter22"])
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with logging_as_json():
        logging.getLogger("a.library").warning("it is %s,\nof two lines", "hunter22")
        try:
            raise ValueError("hunter22")
        except ValueError:
            logging.getLogger("skyband").exception("failed")
    logging.getLogger("skyband").info("after it")
    first, second = map(json.loads, sys.stderr.getvalue().splitlines())
    assert (first["logger"], first["message"]) == ("a.library", "it is ***,\nof two lines")
    assert second["traceback"].endswith("ValueError: ***")
