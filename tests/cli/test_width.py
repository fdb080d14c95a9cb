"""What commands show fits a terminal of 80 columns, except for values that are longer."""

import pytest
from skyband import text_tables

WIDTH = 80


@pytest.mark.parametrize(
    "arguments",
    [
        ["backends"],
        ["queries"],
        ["engines"],
        ["formats"],
        ["describe", "sketch/k-skb"],
        ["describe", "set-matcher/minhash-lsh"],
        ["describe", "query/top-k"],
        ["describe", "query/heavy-hitters"],
        ["describe", "engine/spark"],
        ["bench", "sketch", "exact", "k-skb", "se-fm", "--rows", 2000],
        ["compare", "job.toml", "--backends", "sketch=pcsa-ml,k-skb:epsilon=0.05"],
        ["check", "job.toml"],
        ["check", "requests"],
        ["test", "job.toml", "--input", "requests/0.parquet", "--expect", "other.csv"],
        ["ask", "states"],
        ["plot", "job.toml", "-o", "job.html"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_no_line_is_wider_than_the_terminal(folder, monkeypatch, arguments):
    monkeypatch.chdir(folder.home)
    monkeypatch.setattr(text_tables, "is_terminal", lambda out: True)
    if arguments[0] == "ask":
        assert folder.run("query.emit=state", "sink.path=states", "query.windows=['1 hour']").exit_code == 0
    if arguments[0] == "plot":
        assert folder.run().exit_code == 0
    if arguments[0] == "test":
        (folder.home / "other.csv").write_text("at,window,count\n2026-01-01T00:05:00Z,10 minutes,77\n")
    called = folder.call(*arguments, COLUMNS=str(WIDTH))
    assert called.exit_code == (arguments[0] == "test"), called.stderr
    shown = called.stdout.partition("\nExamples\n")[0].splitlines()
    longer = [line for line in shown if len(line) > WIDTH]
    assert [line for line in longer if not line.startswith(("#   ", "path = "))] == [], "values in a first job may be"
