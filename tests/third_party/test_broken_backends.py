"""Backends that load and then misbehave: `verify` says so, a job ends with a cause, and the user's data is unharmed."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define, evolve
from click.testing import CliRunner
from skyband import BackendInfo, registry
from skyband.cli.commands import group
from skyband.engines.local import apply
from skyband.errors import PluginError
from skyband.registry import Binding, Registry
from skyband.registry.discovery import Plugin
from skyband_distinct.distinct_count.query import DistinctCount
from skyband_specs.checks import checks_for
from skyband_specs.report import FAILED
from skyband_specs.runner import subject
from skyband_specs.sketch.minimal import MineSketch

INFO = BackendInfo("sketch", "mine", f"{__name__}:Nothing", "a sketch", "exact", "a paper")
QUERY = DistinctCount(time="t", item="k", windows=["1 minute"], every="1 minute")


@define(eq=False)
class WritesIntoItsInput(MineSketch):
    def _update(self, times, keys):
        for array in (times, keys):
            if not array.flags.writeable:
                array = array.copy()
            array[...] = 0
        super()._update(times, keys)


@define(eq=False)
class ForcesItsInput(MineSketch):
    def _update(self, times, keys):
        keys[...] = 0


@define(eq=False)
class CountsForEver(MineSketch):
    def estimate(self, since):
        return float("inf")


@define(eq=False)
class CountsNothing(MineSketch):
    def estimate(self, since):
        return float("nan")


@define(eq=False)
class SaysMany(MineSketch):
    def estimate(self, since):
        return "many"


@define(eq=False)
class Raises(MineSketch):
    def estimate(self, since):
        raise LookupError("no luck")


@define(eq=False)
class Exits(MineSketch):
    def estimate(self, since):
        sys.exit(9)


@define(eq=False)
class CannotBegin(MineSketch):
    def __attrs_post_init__(self):
        raise OSError("no room")


@define(eq=False)
class HugeState(MineSketch):
    def _state(self):
        return {**super()._state(), "table": np.zeros((1000, 1000))}


@define(eq=False)
class NegativeLength(MineSketch):
    def __len__(self):
        return -1


def installed(cls, monkeypatch):
    """A registry in which this module brings the class as sketch/mine, beside what is installed."""
    info = evolve(INFO, factory=f"{__name__}:{cls.__name__}")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[cls.__module__])
    made = Registry([*registry.installed().plugins, Plugin("acme", "1.0", "x", "x", (info,))])
    for module in ("skyband.registry.registry", "skyband_specs.runner"):
        monkeypatch.setattr(f"{module}.installed", lambda: made)
    return info


def table():
    times = np.arange(600) * 10**6
    return pa.table({"t": pa.array(times, pa.timestamp("us")), "k": pa.array(np.arange(600) % 40)})


@pytest.mark.parametrize(
    ("cls", "check"),
    [
        (WritesIntoItsInput, "input_is_not_changed"),
        (ForcesItsInput, "read_only_input_is_taken"),
        (CountsForEver, "seeded_streams_equal_the_oracle"),
        (CountsNothing, "empty_sketch_counts_nothing"),
        (SaysMany, "seeded_streams_equal_the_oracle"),
        (Raises, "new_backend_is_as_asked"),
        (Exits, "new_backend_is_as_asked"),
        (HugeState, "restored_is_the_same"),
        (NegativeLength, "new_backend_is_as_asked"),
    ],
)
def test_verify_says_what_is_wrong(cls, check):
    found = subject(INFO, cls).run(next(entry for entry in checks_for("sketch") if entry.name == check))
    assert found.outcome == FAILED
    assert found.reason
    assert len(found.reason) < 2000


@pytest.mark.parametrize("cls", [WritesIntoItsInput, ForcesItsInput])
def test_a_backend_that_writes_into_its_input_cannot_reach_the_data(cls, monkeypatch):
    bound = Binding(installed(cls, monkeypatch), "acme", "1.0")
    given, kept = table(), table()
    try:
        apply(given, QUERY, {"sketch": bound})
    except PluginError as error:
        assert str(error) == "sketch/mine of acme failed: ValueError: assignment destination is read-only"
    assert given.equals(kept)


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Raises, "sketch/mine of acme failed: LookupError: no luck"),
        (SaysMany, "sketch/mine of acme failed: TypeError: "),
        (Exits, "sketch/mine of acme failed: SystemExit: 9"),
        (CannotBegin, "sketch/mine of acme failed: OSError: no room"),
    ],
)
def test_a_job_with_it_ends_with_the_cause_and_without_a_traceback(cls, said, monkeypatch, tmp_path):
    installed(cls, monkeypatch)
    pq.write_table(table(), tmp_path / "in.parquet")
    job = tmp_path / "job.toml"
    job.write_text(
        '[source]\nformat = "parquet"\npath = "in.parquet"\n'
        '[query]\nkind = "distinct-count"\ntime = "t"\nitem = "k"\nwindows = ["1 minute"]\nevery = "1 minute"\n'
        '[backends]\nsketch = "mine"\n[sink]\nformat = "parquet"\npath = "out"\n'
    )
    called = CliRunner().invoke(group, ["run", str(job), "--engine", "local"])
    assert called.exit_code == 1
    assert said in called.stderr
    assert "Traceback" not in called.stderr
    assert not list((tmp_path / "out").glob("*.parquet")), "nothing half-written"
