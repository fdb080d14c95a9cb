"""Every command, with odd words for each of its arguments and options: reported as a fault of the call or a file."""

import os
import re
import subprocess
import sys
import time

import click
import pytest
from skyband.cli.commands import group

from .conftest import JOB

ODD = (
    "",
    "\udcff",
    "9" * 5000,
    "²",
    "-1",
    "99999999999999999999",
    "nan",
    "a=",
    "/",
    "/dev/null",
    "sketch/",
    "job.toml",
    "1 month",
    "query.windows=[[]]",
)
CALLS = [
    ("backends",),
    ("queries",),
    ("describe", "sketch/k-skb"),
    ("check", "job.toml", "--engine", "local"),
    ("run", "stream.toml"),
    ("ask", "states", "--last", "37 minutes"),
    ("state", "stream.toml"),
    ("savepoint", "stream.toml", "saved"),
    ("plot", "counts", "--only", "nothing=1"),
    ("compare", "job.toml", "--backends", "sketch=exact"),
    ("bench", "nothing"),
    ("verify", "sketch/nothing"),
    ("demo", "--dir", "job.toml"),
    ("new", "requests"),
    ("docs", "job.toml"),
]
"""Each ends within milliseconds: at the latest because Java is missing."""


def odd_calls(name, *words):
    """The call, and its result if each word and each option is an odd one."""
    yield [name, *words]
    writes = name in ("new", "docs")  # into any folder that can be
    odd_ones = ["/dev/null", "job.toml", "job.toml/x", "a" * 2000] if writes else ODD
    for place in range(len(words)):
        yield from ([name, *words[:place], odd, *words[place + 1 :]] for odd in odd_ones)
    for option in group.get_command(click.Context(group), name).params:
        if isinstance(option, click.Option) and not option.is_flag:
            yield from ([name, *words, option.opts[0], *[odd] * option.nargs] for odd in ODD)


@pytest.fixture
def jobs(folder, no_java, monkeypatch):
    monkeypatch.chdir(folder.home)
    states = folder.home / "states.toml"
    states.write_text(JOB.replace("windows =", 'emit = "state"\nwindows =').replace('"counts"', '"states"'))
    stream = JOB.replace('"requests"', '"requests"\nstream = true').replace('"counts"', '"given"\ncheckpoint = "kept"')
    (folder.home / "stream.toml").write_text(stream)
    for job in (folder.job, states):
        assert folder.call("run", job, "--engine", "local").exit_code == 0
    return folder


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_no_odd_word_is_a_fault_of_skyband(jobs, call):
    for words in odd_calls(*call):
        ran = jobs.call(*words)
        said = [word[:80] for word in words], ran.output
        assert ran.exit_code in (0, 1, 2), said
        assert ran.exception is None or isinstance(ran.exception, SystemExit), said
        assert not ran.exit_code or ran.output.strip(), said
        assert not re.search(r"bug in|Traceback|AssertionError|\bNone\b|\bTrue\b|\bFalse\b", ran.output), said


def test_moments_of_any_length_and_huge_limits_are_accepted_or_reported(jobs):
    for text in ("9" * 5000, "²", "9" * 19, "--5"):
        ran = jobs.call("ask", "states", "--at", text)
        assert ran.exit_code == 1
        assert "at: must be a moment" in ran.stderr
    compared = jobs.call("compare", jobs.job, "--backends", "sketch=exact,k-skb", "--limit", 2**64, "--seconds", 1)
    assert compared.exit_code == 0, compared.stderr


def test_a_long_word_is_looked_at_for_secrets_in_linear_time():
    """By the square, each of these takes minutes, and the sum of all less than a second otherwise."""
    from skyband.config.redaction import redact

    started = time.process_time()
    for text in ("a" * 200_000, "token" * 40_000, "a://" * 50_000, "a.token:" * 20_000, 'token="' + "\\" * 200_000):
        redact(text)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "arguments", [["check", "données/rows.csv"], ["check", "données"], ["run", "job.toml"]], ids=str
)
@pytest.mark.parametrize("folder_name", ["données", "bytes"])
def test_a_locale_that_is_not_utf_8_is_named_and_no_fault_of_skyband(tmp_path, arguments, folder_name):
    """Python then has names of files in ASCII, Arrow in UTF-8."""
    (tmp_path / "données").mkdir()
    (tmp_path / "données" / "rows.csv").write_text("ts,page\n2026-01-01 00:00:00,a\n", "utf-8")
    (tmp_path / "job.toml").write_text(f'[source]\nformat = "csv"\npath = "{folder_name}"\n', "utf-8")
    forced = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "skyband", *arguments]
    ran = subprocess.run(command, capture_output=True, cwd=tmp_path, env=forced)
    told = ran.stderr.decode()
    assert "warning: the locale encodes file names in ascii, but Skyband uses UTF-8: set PYTHONUTF8=1" in told
    assert "bug in Skyband" not in told and ran.returncode in (0, 1, 2), told
