"""skyband test: a job on your own rows, and the file of its answers."""

import json

import pytest

ROWS = "ts,client\n2026-01-01 10:01,ann\n2026-01-01 10:02,bob\n2026-01-01 10:07,ann\n"
SETS = ["--set", 'query.windows=["10 minutes"]', "--set", 'query.every="10 minutes"']


@pytest.fixture
def rows(folder):
    (folder.home / "rows.csv").write_text(ROWS)
    return folder


def test(folder, *arguments, rows="rows.csv", expect="answers.csv"):
    named = ["--input", folder.home / rows, "--expect", folder.home / expect]
    return folder.call("test", folder.job, *named, *SETS, *arguments)


test.__test__ = False


def test_answers_are_written_once_and_then_compared(rows):
    expect = rows.home / "answers.csv"
    refused = test(rows)
    assert refused.exit_code == 2 and "answers.csv' does not exist: --write writes the answers there" in refused.output
    assert not expect.exists()
    assert test(rows, "--write").exit_code == 0
    assert expect.read_text().startswith('"at","window","count"')
    fine = test(rows)
    assert fine.exit_code == 0 and fine.stdout == "", fine.stderr
    assert "fine, 1 answer as in " in fine.stderr and "3 rows in" in fine.stderr
    assert not (rows.home / "counts").exists(), "nothing is written to the sink"


def test_a_test_shows_no_progress(rows):
    """Its job's `metrics` need no folder, no port and no library."""
    assert test(rows, "--write", "--set", 'metrics="nowhere/figures.prom"').exit_code == 0


def test_a_difference_is_a_table_and_exit_status_1_and_only_write_fixes_it(rows):
    expect = rows.home / "answers.csv"
    wrong = "count,at\n3,2026-01-01 10:10\n5,2026-01-01 10:20\n"
    expect.write_text(wrong)
    told = test(rows)
    assert told.exit_code == 1 and expect.read_text() == wrong
    assert told.stdout.splitlines() == [
        "         at                            count",
        "differs  2026-01-01 10:10:00  2 (expected 3)",
        "missing  2026-01-01 10:20:00               5",
    ]
    assert "1 missing, 1 differs (3 rows in; not compared: window, low, high)" in told.stderr
    data = json.loads(test(rows, "--json").stdout)
    assert not data["as_expected"] and data["differs"][0]["columns"] == ["count"]
    assert data["missing"] == [{"at": "2026-01-01 10:20:00", "count": 5.0}]
    mended = test(rows, "--write")
    assert mended.exit_code == 0 and mended.stdout == told.stdout, "what is overwritten is shown"
    assert test(rows).exit_code == 0


def test_what_cannot_be_is_told_before_anything_runs(rows):
    for name, words in (
        ("answers.txt", "the name of a file of rows must end in"),
        ("nowhere/answers.csv", "is not a folder"),
        ("rows.csv", "name another file"),
    ):
        called = test(rows, "--write", expect=name)
        assert called.exit_code == 2 and words in called.output.replace("\n", " "), called.output
    assert (rows.home / "rows.csv").read_text() == ROWS
    (rows.home / "answers.csv").write_text("at,clients\n2026-01-01 10:10,2\n")
    lacking = test(rows, "--write")
    assert lacking.exit_code == 1 and "'clients' that the answers lack; they have at, window, count" in lacking.stderr
    (rows.home / "other.csv").write_text(ROWS.replace("client", "visitor"))
    misfit = test(rows, rows="other.csv")
    assert misfit.exit_code == 1 and "query.item" in misfit.stderr and "other.csv" in misfit.stderr
    states = test(rows, "--set", 'query.emit="state"')
    assert states.exit_code == 1 and "query.emit: a test needs answers" in states.stderr
