"""Formats of plugins in core: found by the hook alone, with what to install if one is missing."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
import skyband
from skyband import FormatInfo
from skyband.errors import ConfigError, EngineError, PluginError
from skyband.registry.discovery import Plugin, read_hooks
from skyband_jobs.formats import BatchSink, Format, NetChanges, TableKeys
from skyband_jobs.formats.installed_format import GuardedSink

HOUSE = Path(skyband.__file__).parent
GUESTS = re.compile(
    r"deltalake|delta[ _-]lake|io\.delta|_delta_log|format.{0,20}delta\b|iceberg|kafka|redis", re.IGNORECASE
)
CAN = ("reads",)


def test_core_names_no_format_of_a_plugin_but_in_its_install_hints():
    named = [
        f"{path.relative_to(HOUSE)}:{number}: {line.strip()}"
        for path in sorted(HOUSE.rglob("*.py"))
        if path.name not in ("homes.py", "install_hints.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if GUESTS.search(line)
    ]
    assert named == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("acme log", "a:B", "a log", CAN), "name: must be lower-case words joined by hyphens"),
        (("parquet", "a:B", "a log", CAN), "name: 'parquet' is a format of the engines"),
        (("acme", "a.B", "a log", CAN), 'factory: must be written "package.module:Class"'),
        (("acme", "a:B", "", CAN), "summary: must be a sentence"),
        (("acme", "a:B", "a log", ()), "can: must be some of reads, follows, writes, streams"),
        (("acme", "a:B", "a log", ("read",)), "can: unknown 'read'; did you mean 'reads'?"),
    ],
)
def test_wrong_declarations_of_a_format_are_reported(arguments, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        FormatInfo(*arguments)


def test_a_hook_of_a_later_skyband_says_upgrade(site):
    code = "from skyband import hookimpl\n@hookimpl\ndef skyband_dashboards(): return []"
    module = __import__(site.install("acme-dashboards", code))
    problem = read_hooks(Plugin("acme-dashboards", "1.0", "acme", module.__name__), module).problem
    assert "unknown hook 'skyband_dashboards'" in problem and problem.endswith("upgrade skyband")


JOB = '[source]\nformat = "{}"\n{}\n[query]\nkind = "distinct-count"\ntime = "at"\nitem = "who"\nwindows = ["1 minute"]'


def test_a_job_whose_format_is_not_installed_says_what_to_install(site, tmp_path):
    alone = {"SKYBAND_PLUGINS": "skyband-distinct"}
    for name, keys in (("delta", 'path = "x"'), ("iceberg", 'table = "db.x"'), ("kafka", "")):
        job = tmp_path / f"{name}.toml"
        job.write_text(JOB.format(name, keys) + '\nevery = "1 minute"\n[sink]\nformat = "console"\n')
        checked = site.run("check", str(job), "--engine", "local", **alone)
        said = f"it comes with skyband-lakes: pip install 'skyband-lakes[{name}]'"
        assert checked.returncode == 1 and f"source.format: {name} is not installed; {said}" in checked.stdout
    (tmp_path / "_delta_log").mkdir()
    shown = site.run("plot", str(tmp_path), "--output", str(tmp_path / "x.html"), SKYBAND_PLUGINS="skyband-compare")
    assert "is a delta table; it comes with skyband-lakes" in shown.stderr, shown.stderr


def test_the_formats_are_listed_and_what_is_not_installed_says_how(site):
    told = site.run("formats", SKYBAND_PLUGINS="skyband-distinct")
    assert told.returncode == 0, told.stderr
    assert "delta" in told.stdout and "not installed; it comes with skyband-lakes" in " ".join(told.stdout.split())


HALF = """
    from skyband import FormatInfo, hookimpl
    from skyband_jobs.formats import Format

    class Half(Format):
        def check(self, keys, on_spark):
            return [Problem("format", "needs acmelib: pip install acmelib")]

    @hookimpl
    def skyband_formats():
        return [FormatInfo("acme-log", f"{__name__}:Half", "a log", ("reads", "streams"))]
"""


def test_a_format_that_cannot_do_what_it_says_is_listed_with_what_it_lacks(site):
    site.install("acme-log", HALF)
    (listed,) = json.loads(site.run("formats", "--json", SKYBAND_PLUGINS="acme-log").stdout)["formats"]
    said = "has no read and no write, though its FormatInfo names reads and streams: define it, or declare less"
    assert listed["format"] == "acme-log" and listed["can"] == ["reads", "streams"]
    assert listed["problem"].endswith(said)


def test_a_missing_method_of_a_format_is_reported_with_the_remedy():
    class Nothing(Format):
        def check(self, keys, on_spark):
            return []

    for method, abilities in (("read", '"reads"'), ("write", '"writes", "streams" and "current"')):
        with pytest.raises(PluginError, match=f"defines no method '{method}': define it, or leave {abilities} out of"):
            getattr(Nothing(), method)(TableKeys())


def test_a_sink_that_fails_with_changes_is_reported_with_the_micro_batch():
    class Fails(BatchSink):
        latest = exists = write = append = None

        def apply(self, changes, number=None, replace=False):
            raise KeyError("shard 7")

    sink = GuardedSink(Fails(), "format acme of acme", True)
    nothing = NetChanges(("key",), pa.table({"key": []}), pa.table({"key": []}))
    with pytest.raises(EngineError, match=r"^micro-batch 3: format acme of acme failed: KeyError: 'shard 7'"):
        sink.apply(nothing, ("2", 3))
    with pytest.raises(EngineError, match=r"^format acme of acme failed: KeyError: 'shard 7'"):
        sink.apply(nothing)
