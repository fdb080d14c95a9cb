"""A plugin with a role and a query for it, tried with every command; and broken ones."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.registry import installed

HOOKS = """
    from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl

    @hookimpl
    def skyband_roles():
        return [RoleInfo("tally", "{interface}", "plain", "acme-backends", "how many rows", {conformance})]

    @hookimpl
    def skyband_queries():
        return [QueryInfo("acme-count", "acme_tally:Count", "how many rows")]
"""
BACKENDS = """
    from skyband import BackendInfo, hookimpl

    @hookimpl
    def skyband_backends():
        return [
            BackendInfo("tally", name, f"acme_tally:{name.title()}", "a number", "exact", "by definition")
            for name in ("plain", "other")
        ]
"""
CODE = '''
    """A role, two backends of it and a query that asks one."""

    from abc import abstractmethod
    from typing import ClassVar

    import numpy as np
    import pyarrow as pa
    from attrs import define, field
    from skyband.queries.time_columns import at_field
    from skyband.roles import Backend
    from skyband_specs.scaffold.query_plugin.query import MineQuery, SumsExecution, _Sums


    class Tally(Backend):
        """Counts."""

        role: ClassVar[str] = "tally"

        @abstractmethod
        def add(self, count):
            """Count so many more."""

        @abstractmethod
        def total(self):
            """All that were counted."""


    @define(eq=False)
    class Plain(Tally):
        """A number."""

        name: ClassVar[str] = "plain"
        _sum: int = field(default=0, init=False)

        def add(self, count):
            self._sum += count

        def total(self):
            return self._sum

        def __len__(self):
            return 1

        nbytes = 8

        def _state(self):
            return {"sum": np.array([self._sum])}

        def _load(self, state):
            self._sum = int(state["sum"][0])


    @define(eq=False)
    class Other(Plain):
        """The same."""

        name: ClassVar[str] = "other"


    @define
    class Count(MineQuery):
        """The rows since the beginning."""

        kind: ClassVar[str] = "acme-count"
        roles: ClassVar[tuple[str, ...]] = ("tally",)
        answered_by: ClassVar[str] = f"{__name__}:CountExecution"
        shard_by: ClassVar[str | None] = None


    class CountExecution(SumsExecution):
        """Answers with what the backend has counted."""

        def processor(self, bindings, answers):
            tally = bindings["tally"].create()

            class Processor(_Sums):
                def update(self, times, rows):
                    tally.add(len(rows))

                def answer(self, at):
                    self._answers.append((at, tally.total()))

            return Processor(self.query, answers)
'''
JOB = """
[source]
format = "parquet"
path = "rows.parquet"

[query]
kind = "{kind}"
time = "ts"
{keys}

[sink]
format = "console"
"""
COUNT = 'value = "n"\nwindow = "1 minute"\nevery = "1 minute"'
DISTINCT = 'item = "n"\nwindows = ["1 minute"]\nevery = "1 minute"'


@pytest.fixture
def acme(site, tmp_path, monkeypatch):
    """Installs the role, by default intact, and returns a function that calls the command line next to two jobs."""
    times = pa.array([0, 10, 70], pa.int64()).cast(pa.timestamp("s"))
    pq.write_table(pa.table({"ts": times, "n": [1, 2, 3]}), tmp_path / "rows.parquet")
    (tmp_path / "job.toml").write_text(JOB.format(kind="acme-count", keys=COUNT))
    (tmp_path / "core.toml").write_text(JOB.format(kind="distinct-count", keys=DISTINCT))
    monkeypatch.chdir(tmp_path)

    def install(roles=("acme-tally",), backends=True, interface="acme_tally:Tally", conformance=None):
        site.module("acme_tally", CODE)
        for name in roles:
            site.install(name, HOOKS.format(interface=interface, conformance=conformance))
        if backends:
            site.install("acme-backends", BACKENDS)
        installed.cache_clear()
        return lambda *arguments: CliRunner().invoke(group, arguments)

    yield install
    installed.cache_clear()
    sys.modules.pop("acme_tally", None)


def test_every_command_treats_it_as_one_of_cores(acme):
    call = acme()
    assert "tally/plain  default  exact      acme-backends  1.0      ok" in call("backends", "--role", "tally").stdout
    assert call("queries").stdout.splitlines()[1].split() == ["acme-count", "tally", "acme-tally", "1.0", "ok"]
    assert "how many rows (the role's default)" in call("describe", "tally/plain").stdout
    assert "tally" in call("describe", "query/acme-count").stdout
    ran = call("run", "job.toml", "--engine", "local", "--set", "backends.tally=other")
    assert [line.split()[-1] for line in ran.stdout.splitlines()] == ["sum", "2", "3"], ran.stderr
    compared = call("compare", "job.toml", "--backends", "tally=plain,other")
    assert compared.exit_code == 0, compared.output
    made = call("new", "mine", "--role", "tally")
    assert made.exit_code == 0, made.stderr
    assert "role tally of acme-tally has no conformance checks" in call("verify", "tally/plain").stderr
    assert "conformance" in call("bench", "tally").stderr


def works_otherwise(call):
    """Whether core's own still works."""
    return call("run", "core.toml", "--engine", "local").exit_code == 0


def test_claimed_twice_it_harms_itself_alone(acme):
    call = acme(roles=("acme-tally", "beta-tally"))
    assert call("backends").exit_code == 0
    for arguments in (
        ("describe", "tally/plain"),
        ("verify", "tally/plain"),
        ("bench", "tally"),
        ("new", "mine", "--role", "tally"),
        ("compare", "job.toml", "--backends", "tally=plain,other"),
    ):
        ran = call(*arguments)
        assert ran.exit_code != 0
        assert "claimed by acme-tally and beta-tally: uninstall one, or" in ran.stderr, (arguments, ran.stderr)
    assert "query/acme-count: claimed by" in call("run", "job.toml", "--engine", "local").stderr
    line = next(line for line in call("backends").stdout.splitlines() if line.startswith("tally/plain"))
    assert "role tally of acme-tally: claimed by acme-tally and beta-tally" in line
    assert works_otherwise(call)


def test_a_backend_without_its_role_says_that_nothing_brings_it(acme):
    call = acme(roles=())
    line = next(line for line in call("backends").stdout.splitlines() if line.startswith("tally/plain"))
    assert line.endswith("; no installed plugin brings it")
    assert works_otherwise(call)


def test_without_its_default_it_says_what_to_install(acme):
    call = acme(backends=False)
    for arguments in (("run", "job.toml", "--engine", "local"), ("backends", "--role", "tally"), ("bench", "tally")):
        ran = call(*arguments)
        assert ran.exit_code != 0
        assert "pip install acme-backends" in ran.stderr, (arguments, ran.stderr)
    assert " tally: unknown backend 'plain'; there are none; it comes with acme-backends:" in call("queries").stdout
    assert works_otherwise(call)


def test_without_its_driver_it_is_run_but_not_verified(acme):
    call = acme(conformance='"acme_nowhere"')
    ran = call("verify", "tally/plain")
    assert ran.exit_code == 1
    assert ran.stderr.startswith("error: role tally of acme-tally: acme_nowhere.driver could not be imported: ")
    assert "role tally of acme-tally: acme_nowhere.scenarios could not" in call("bench", "tally").stderr
    assert call("run", "job.toml", "--engine", "local").exit_code == 0


def test_an_interface_that_is_not_there_is_named_with_its_distribution(acme):
    call = acme(interface="acme_nowhere:Tally")
    line = next(line for line in call("backends").stdout.splitlines() if line.startswith("tally/plain"))
    assert line.endswith("acme_nowhere:Tally does not exist: no module named 'acme_nowhere'")
    for arguments in (
        ("run", "job.toml", "--engine", "local"),
        ("describe", "tally/plain"),
        ("verify", "tally/plain"),
        ("compare", "job.toml", "--backends", "tally=plain,other"),
        ("new", "mine", "--role", "tally"),
    ):
        ran = call(*arguments)
        assert ran.exit_code != 0
        said = "role tally of acme-tally: acme_nowhere:Tally could not be imported: ModuleNotFoundError"
        assert said in ran.output, (arguments, ran.output)
    assert works_otherwise(call)
