"""The commands: data on stdout, all else on stderr; 0 success, 1 problem found, 2 wrong call."""

import json
import sys

import pytest
import skyband
from skyband.registry import installed


def test_help_names_every_command_with_a_whole_sentence(folder):
    said = folder.call("--help").stdout
    for command in ("demo", "backends", "describe", "check", "run", "verify"):
        line = next(line for line in said.splitlines() if line.startswith(f"  {command} "))
        assert line.endswith(".") and "..." not in line
    assert folder.call("-h").stdout == said
    assert folder.call("--version").stdout == f"skyband {skyband.__version__}\n"


@pytest.mark.parametrize("command", ["demo", "backends", "describe", "check", "run", "verify"])
def test_each_command_explains_itself(folder, command):
    told = folder.call(command, "--help")
    assert told.exit_code == 0
    assert "--debug" in told.stdout


def test_an_unknown_command_suggests_the_closest(folder):
    called = folder.call("baxkends")
    assert called.exit_code == 2
    assert "no command 'baxkends'; did you mean 'backends'?" in called.stderr


def test_backends_lists_each_with_its_guarantee_and_marks_the_defaults(folder):
    lines = [line.split() for line in folder.call("backends").stdout.splitlines()]
    assert lines[0] == ["backend", "guarantee", "distribution", "version", "status"]
    defaults = {line[0] for line in lines if line[1] == "default"}
    assert defaults <= {f"{role.name}/{role.default}" for role in installed().roles.values()}
    assert ["sketch/pcsa-ml", "default", "bounded", "skyband-distinct"] in [line[:4] for line in lines]
    assert all(line[-1] == "ok" for line in lines[1:])


def test_backends_of_one_role(folder):
    told = json.loads(folder.call("backends", "--role", "sketch", "--json").stdout)
    assert {entry["role"] for entry in told["backends"]} == {"sketch"}
    assert [entry["name"] for entry in told["backends"]] == [info.name for info in skyband.backends("sketch")]
    assert [entry["name"] for entry in told["backends"] if entry["default"]] == ["pcsa-ml"]
    wrong = folder.call("backends", "--role", "sketsh")
    assert wrong.exit_code == 2
    assert "did you mean 'sketch'?" in wrong.stderr


@pytest.mark.parametrize("key", [entry.info.key for entry in installed().listing()])
def test_every_backend_can_be_described(folder, key):
    told = folder.call("describe", key)
    assert told.exit_code == 0
    assert told.stdout.startswith(f"{key}: ")
    as_json = json.loads(folder.call("describe", key, "--json").stdout)
    assert as_json["backend"] == key
    for parameter in as_json["parameters"]:
        assert parameter["name"] in told.stdout
        assert parameter["help"], "every parameter has a sentence of help"


def test_describe_says_what_the_class_and_the_plugin_say(folder):
    told = folder.call("describe", "sketch/pcsa-ml").stdout
    row = next(line for line in told.splitlines() if line.startswith("epsilon"))
    assert row.startswith("epsilon  float, default 0.02, at least ")
    assert "at least 0.001 and below 1" in row
    for word in ("guarantee", "bounded", "paper", "skyband-distinct", "the role's default"):
        assert word in told


@pytest.mark.parametrize("command", ["describe", "verify"])
@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("sketch/pcsaml", "unknown backend 'pcsaml'; did you mean 'pcsa-ml'?"),
        ("sketsh/exact", "unknown role 'sketsh'; did you mean 'sketch'?"),
        ("sketch", "must be ROLE/NAME, such as sketch/pcsa-ml"),
        ("sketch/", "must be ROLE/NAME"),
        (
            "k-skb",
            "query/KIND or engine/NAME (got 'k-skb'); did you mean quantile-sketch/k-skb or sketch/k-skb",
        ),
        ("zzz", "(got 'zzz'); `skyband backends`, `queries` and `engines` list them"),
        ("distinct-cont", "did you mean query/distinct-count?"),
        ("spark", "did you mean engine/spark?"),
        (
            "kskb",
            "query/KIND or engine/NAME (got 'kskb'); did you mean quantile-sketch/k-skb or sketch/k-skb",
        ),
    ],
)
def test_an_unknown_backend_is_a_wrong_call(folder, command, key, said):
    called = folder.call(command, key)
    assert called.exit_code == 2
    assert said in called.stderr
    assert called.stdout == ""


def test_check_prints_every_problem_with_the_file_and_the_field(folder):
    folder.job.write_text(folder.job.read_text().replace('item = "client"', 'item = "clint"').replace("exact", "exakt"))
    called = folder.call("check", folder.job)
    assert called.exit_code == 1
    assert called.stdout.splitlines() == [
        f"{folder.job}: query.item: the source has no column 'clint'; did you mean 'client'?",
        f"{folder.job}: backends.sketch: unknown backend 'exakt'; did you mean 'exact'?",
    ]


def test_check_of_a_job_without_problems(folder):
    called = folder.call("check", folder.job)
    assert (called.exit_code, called.stdout) == (0, "")
    assert "fine (distinct-count on parquet; its columns fit)" in called.stderr


def test_check_needs_no_java(folder, no_java):
    assert folder.call("check", folder.job).exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "none.toml"],
        ["run", "none.toml"],
        ["run", "{job}", "--set", "k"],
        ["run", "{job}", "--engine", "flink"],
    ],
)
def test_wrong_calls(folder, arguments):
    called = folder.call(*(argument.format(job=folder.job) for argument in arguments))
    assert called.exit_code == 2
    assert called.stderr.startswith("Usage: ")


def test_run_with_a_faulty_job_prints_the_same_as_check_on_stderr(folder):
    called = folder.run("query.every=0 minutes")
    assert called.exit_code == 1
    assert called.stderr == "--set: query.every: must be longer than 0 (got 0 minutes)\n"
    assert called.stdout == ""
    assert not (folder.home / "counts").exists()


@pytest.mark.parametrize("command", ["run", "demo"])
def test_without_java_the_error_says_how_to_get_it_and_that_local_works(folder, no_java, command):
    called = folder.call(*([command, folder.job] if command == "run" else [command, "--dir", folder.home / "demo"]))
    assert called.exit_code == 1
    assert called.stderr.startswith("error: Spark needs Java 17 or newer, but none was found: ")
    assert "--engine local" in called.stderr
    assert not (folder.home / "demo").exists()


def test_verify_without_the_checks_says_where_they_are(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "skyband_specs", None)
    monkeypatch.setitem(sys.modules, "skyband_specs.runner", None)
    called = folder.call("verify", "sketch/exact")
    assert called.exit_code == 1
    assert "pip install skyband-specs" in called.stderr


def test_verify_reports_every_check(folder):
    called = folder.call("verify", "sketch/exact")
    assert called.exit_code == 0, called.stdout
    assert called.stdout.splitlines()[-1].endswith(" 0 failed")
    assert "oracle" in called.stdout


def test_an_internal_fault_has_no_traceback_unless_asked(folder, monkeypatch):
    monkeypatch.setattr("skyband.registry.Registry.listing", lambda *_: 1 / 0)
    called = folder.call("backends")
    assert called.exit_code == 1
    assert called.stderr.startswith("error: ZeroDivisionError: division by zero\n")
    assert "--debug" in called.stderr
    assert isinstance(folder.call("--debug", "backends").exception, ZeroDivisionError)
