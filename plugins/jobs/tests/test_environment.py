"""`${NAME}` in a job: the environment's value, not shown anywhere if it may be secret."""

import pytest
from skyband.config.redaction import redact
from skyband.errors import ConfigError
from skyband_jobs.job.job_file import expand
from skyband_jobs.programs.parsing import read_job


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("HOST", "lake")
    monkeypatch.setenv("PW_1", "correct horse")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("UNSET", raising=False)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${HOST}", "lake"),
        ("jdbc://${HOST}:1/${PW_1}", "jdbc://lake:1/correct horse"),
        ("${HOST}${HOST}", "lakelake"),
        ("${EMPTY}", ""),
        ("${UNSET:-east}", "east"),
        ("${UNSET:-}", ""),
        ("${HOST:-east}", "lake"),
        ("${EMPTY:-east}", ""),
        ("$${HOST}", "${HOST}"),
        ("$HOST, {HOST}, ${}, ${1}, ${spark.name}, ${HOST", "$HOST, {HOST}, ${}, ${1}, ${spark.name}, ${HOST"),
    ],
)
def test_text_with_what_the_environment_has(text, expanded):
    tables = {"source": {"path": text, "select": [text, 1]}, "name": text, "shards": 2}
    assert expand(tables) == {"source": {"path": expanded, "select": [expanded, 1]}, "name": expanded, "shards": 2}


def test_a_name_that_is_written_out_need_not_be_set():
    assert expand({"name": "$${UNSET} ${UNSET:-east}"}) == {"name": "${UNSET} east"}


def test_what_it_has_is_not_expanded_once_more(monkeypatch):
    monkeypatch.setenv("HOST", "${PW_1}")
    assert expand({"name": "${HOST}"}) == {"name": "${PW_1}"}


def test_every_name_that_is_not_set_is_told_at_once():
    with pytest.raises(ConfigError) as told:
        expand({"source": {"options": {"key": "${UNSET}"}}, "name": "${MISSING_TOO} ${UNSET:-x}"})
    assert [problem.field for problem in told.value.problems] == ["source.options.key", "name"]
    assert "the environment variable UNSET is not set: set it, or give it a default, ${UNSET:-…}" in str(told.value)


@pytest.mark.parametrize("table", ["options", "catalog", "spark"])
def test_it_is_hidden_if_anything_may_be_secret(monkeypatch, table):
    monkeypatch.setenv("PLAIN_NAME", f"nobody's business in {table}")
    expand({"sink": {table: {"whatever": "${PLAIN_NAME}"}}, "name": "${HOST}"})
    assert redact(f"it says nobody's business in {table} at lake") == "it says *** at lake"


def test_a_job_takes_it_from_its_file_and_from_set(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMN", "client")
    (tmp_path / "visits.csv").write_text("ts,client\n2026-01-01T00:00:00Z,a\n")
    job = tmp_path / "job.toml"
    job.write_text(
        '[source]\nformat = "csv"\npath = "${PLACE:-visits}.csv"\nschema = "ts TIMESTAMP, client STRING"\n'
        'options = { header = true }\n[query]\nkind = "distinct-count"\ntime = "ts"\nitem = "${COLUMN}"\n'
        'windows = ["1 minute"]\nevery = "1 minute"\n[sink]\nformat = "console"\n'
    )
    read = read_job(job, ["name=counts of ${HOST}"], "local")
    assert (read.query.item, read.name, read.source.path) == ("client", "counts of lake", str(tmp_path / "visits.csv"))
    with pytest.raises(ConfigError, match=r"source\.path: the environment variable UNSET is not set"):
        read_job(job, ["source.path=${UNSET}"], "local")
