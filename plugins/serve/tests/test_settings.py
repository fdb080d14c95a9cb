"""The table `[serve]`: checked on every engine. An address that others reach needs a token, which is never shown."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.errors import ConfigError
from skyband_jobs import JobError, read_job
from skyband_serve.settings import FEWEST_LETTERS, Address, ServeSettings, address_of

TOKEN = "correct-horse-battery-staple-0123456789"
JOB = """
[source]
format = "parquet"
path = "rows"
stream = true

[query]
kind = "distinct-count"
time = "ts"
item = "item"
windows = ["1 minute"]
every = "1 minute"

[sink]
format = "parquet"
path = "counts"
checkpoint = "checkpoint"
"""


@pytest.fixture
def job(tmp_path):
    """Writes a job with more tables."""
    (tmp_path / "rows").mkdir()
    rows = pa.table({"ts": pa.array([0], pa.timestamp("s", "UTC")), "item": ["x"]})
    pq.write_table(rows, tmp_path / "rows" / "a.parquet")

    def write(tables=""):
        (tmp_path / "job.toml").write_text(JOB + tables)
        return str(tmp_path / "job.toml")

    return write


def test_a_job_has_the_defaults_and_what_it_sets(job):
    settings = read_job(job(), engine="serve").own["serve"]
    assert (settings.address, settings.token, settings.durability) == (None, None, "disk")
    assert (str(settings.keep), str(settings.commit)) == ("1 hour", "10 seconds")
    changed = '[serve]\nhttp = "127.0.0.1:8080"\nkeep = "5 minutes"\ndurability = "process"'
    settings = read_job(job(changed), engine="serve").own["serve"]
    assert (settings.address, settings.keep.length, settings.durability) == (
        Address("127.0.0.1", 8080),
        300_000_000,
        "process",
    )


@pytest.mark.parametrize("engine", ["serve", "local", "spark"])
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('http = "8080"', """serve.http: must be HOST:PORT, such as "127.0.0.1:8080", or "none" (got '8080')"""),
        ("http = 8080", 'serve.http: must be HOST:PORT, such as "127.0.0.1:8080", or "none" (got 8080)'),
        ('http = "127.0.0.1:65536"', "serve.http: must be HOST:PORT"),
        ('http = ":8080"', "serve.http: must be HOST:PORT"),
        ('http = "http://127.0.0.1:8080"', "serve.http: must be HOST:PORT"),
        (
            'http = "0.0.0.0:8080"',
            "serve.token: is required, as other machines reach http = '0.0.0.0:8080': set it to ",
        ),
        ('http = "[::]:8080"', "serve.token: is required"),
        ('http = "board.example:8080"', "serve.token: is required"),
        ('http = "127.0.0.1.example:8080"', "serve.token: is required"),
        ('token = "sh7f3a"', "serve.token: must have at least 32 characters (got 6): `openssl rand -hex 32` makes one"),
        ("token = 77777777777777777", "serve.token: must be text of at least 32 characters"),
        (f'token = "{TOKEN} {TOKEN}"', "serve.token: must consist of letters, digits and"),
        (f'token = "{TOKEN}ü"', "serve.token: must consist of letters, digits and"),
        ('commit = "0 seconds"', "serve.commit: must be a length of time above 0 (got 0 seconds)"),
        ('keep = "10 rows"', "serve.keep: must be a length of time above 0 (got 10 rows)"),
        ('commit = "soon"', "serve.commit: must be a duration"),
        ('durability = "disc"', "serve.durability: must be one of disk, process (got 'disc'); did you mean 'disk'?"),
        ('tokn = "sh7f3a"', "serve.tokn: unknown; did you mean 'token'?"),
        ('checkpoint = "x"', "serve.checkpoint: belongs in [sink]"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(line, told, engine, job):
    with pytest.raises(JobError) as error:
        read_job(job(f"[serve]\n{line}"), engine=engine)
    (problem,) = error.value.problems
    assert str(problem).startswith(told)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:8080", "[::1]:65535", "127.8.9.1:80"])
def test_loopback_addresses_need_no_token(address):
    settings = ServeSettings(http=address)
    assert settings.address.is_loopback and str(settings.address) == address


def test_others_need_one_however_they_are_built():
    assert not ServeSettings(http="0.0.0.0:8080", token=TOKEN).address.is_loopback
    with pytest.raises(ConfigError, match="token: is required"):
        ServeSettings(http="0.0.0.0:8080")
    assert address_of("none") is None and address_of("[::1]:8080") == Address("::1", 8080)


@pytest.mark.parametrize("how", ["in the file", "from the environment", "by --set"])
def test_the_token_is_never_shown(how, job, monkeypatch):
    """Also where it is wrong, or something else in the job quotes it."""
    token = f"{TOKEN} "
    monkeypatch.setenv("PLAIN", token)
    line = {"in the file": json.dumps(token), "from the environment": '"${PLAIN}"', "by --set": '"short-7f3a"'}[how]
    sets = ["--set", f"serve.token={token!r}"] if how == "by --set" else []
    path = job(f"[serve]\ntoken = {line}\n")
    told = CliRunner().invoke(group, ["check", path, "--engine", "serve", *sets, "--set", f"query.item={token}"])
    assert told.exit_code == 1 and "correct" not in told.output and "***" in told.output
    assert "serve.token: must consist of letters" in told.output


def test_the_table_with_its_keys_is_on_the_page_of_the_job_file():
    from skyband_specs.reference.job_file import job_page

    _, _, section = job_page().partition("\n## `[serve]`\n")
    section = section.partition("\n## ")[0]
    assert "Of the engine `serve`; the others ignore it." in section
    assert all(f"| `{name}` |" in section for name in ("http", "token", "keep", "commit", "durability"))


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 64])
def test_a_token_is_long_enough_from_the_fewest_characters_on(length):
    if length >= FEWEST_LETTERS:
        assert ServeSettings(token="a" * length).token == "a" * length
        return
    with pytest.raises(ConfigError, match=rf"must have at least 32 characters \(got {length}\)"):
        ServeSettings(token="a" * length)
