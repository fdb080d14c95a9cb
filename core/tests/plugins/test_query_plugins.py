"""Kinds of query from plugins: errors name the distribution and the cause."""

import sys
from importlib import import_module

import pyarrow as pa
import pytest
from skyband.config.parameters import build
from skyband.engines import local
from skyband.errors import PluginError
from skyband.queries import examples_of, load_query, make_query
from skyband.queries.error_attribution import BROUGHT_BY
from skyband.queries.presentation import QueryPresentation, load_presentation, presentation_of
from skyband.queries.query import Query
from skyband.registry import installed
from skyband_specs.scaffold.query_plugin.examples import EXAMPLES
from skyband_specs.scaffold.query_plugin.query import MineQuery, SumsExecution, _Sums

HOOKS = """
    from skyband import hookimpl
    from skyband.registry.info import QueryInfo

    @hookimpl
    def skyband_queries():
        return [QueryInfo("acme-sum", "acme_query:AcmeSum", "a sum", api={api})]
"""


@pytest.fixture
def acme(site):
    """Installs a query with this module's code, and discovers plugins again."""

    def install(code, api=1):
        site.module("acme_query", code)
        site.install("acme-query", HOOKS.format(api=api))
        installed.cache_clear()

    yield install
    installed.cache_clear()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_module", "could not be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "could not be imported: SystemExit: 3"),
        ("", "could not be imported: AttributeError: module 'acme_query' has no attribute 'AcmeSum'"),
        ("class AcmeSum: pass", "is not a subclass of Query"),
        ("from skyband.queries.query import Query\nclass AcmeSum(Query): kind = 'sum'", "is named 'sum'"),
        ("from skyband.queries.query import Query\nclass AcmeSum(Query): kind = 'acme-sum'", "has no answer_fields, "),
    ],
)
def test_a_broken_query_is_named_with_its_distribution_and_the_cause(acme, monkeypatch, code, said):
    monkeypatch.delitem(sys.modules, "acme_query", raising=False)
    acme(code)
    with pytest.raises(PluginError) as caught:
        make_query({"kind": "acme-sum"})
    assert str(caught.value).startswith("query 'acme-sum' of acme-query: acme_query:AcmeSum " + said)
    assert load_query("top-k").kind == "top-k", "the others go on"


@pytest.mark.parametrize(("api", "upgrade"), [(99, "skyband"), (0, "acme-query")])
def test_a_query_of_another_api_says_what_to_upgrade(acme, api, upgrade):
    acme("", api)
    with pytest.raises(PluginError, match=f"for API {api}, this Skyband supports 1: upgrade {upgrade}"):
        load_query("acme-sum")


def test_a_job_with_a_broken_query_is_refused_in_one_line(site, tmp_path):
    site.module("acme_query", "import no_such_module")
    site.install("acme-query", HOOKS.format(api=1))
    job = tmp_path / "job.toml"
    job.write_text('[source]\nformat = "kafka"\n[query]\nkind = "acme-sum"\n[sink]\nformat = "console"\n')
    ran = site.run("check", str(job))
    assert (ran.returncode, ran.stdout) == (
        1,
        f"{job}: query: query 'acme-sum' of acme-query: acme_query:AcmeSum could not be imported: "
        "ModuleNotFoundError: No module named 'no_such_module'\n",
    )


ACME_SUM = """
    from skyband_specs.scaffold.query import MineQuery

    class AcmeSum(MineQuery):
        kind = "acme-sum"
"""


def test_a_presentation_is_loaded_when_it_is_needed_and_a_missing_one_is_named(acme, site, monkeypatch):
    monkeypatch.delitem(sys.modules, "acme_query", raising=False)
    acme(ACME_SUM, '1, presentation="acme_shown:Shown"')
    cls = load_query("acme-sum")
    with pytest.raises(PluginError, match="presentation of query 'acme-sum' of acme-query: acme_shown:Shown could not"):
        load_presentation(cls)
    site.module("acme_shown", "class Shown: pass")
    with pytest.raises(PluginError, match="acme_shown:Shown is not a subclass of QueryPresentation"):
        load_presentation(cls)


def test_a_query_that_nothing_presents_is_compared_as_rows_and_drawn_as_its_columns_suggest():
    shown = presentation_of(MineQuery("ts", value="size", window="1 minute", every="1 minute"))
    assert type(shown) is QueryPresentation
    assert (shown.chart, shown.compared_value, shown.expected_state(1.0, 1)) == (None, None, None)


def test_a_query_has_at_most_45_public_members():
    """What commands need is said by its presentation, and what answers it needs by its execution."""
    public = [name for name in dir(Query) if not name.startswith("_")]
    assert len(public) <= 45, public


def test_a_kind_claimed_twice_is_listed_with_both_and_the_others_work(site):
    for name in ("acme-one", "acme-two"):
        site.install(name, HOOKS.format(api=1))
    lines = site.run("queries").stdout.splitlines()
    assert [line.split()[0] for line in lines].count("acme-sum") == 2
    assert sum('claimed by acme-one and acme-two: choose one with distribution = "acme-one"' in x for x in lines) == 2
    assert sum(x.endswith(" in a job, --distribution in a command") for x in lines) == 2
    assert any(line.startswith("top-k ") and line.endswith("ok") for line in lines)
    assert "claimed by acme-one and acme-two" in site.run("describe", "query/acme-sum").stderr


def test_a_listing_says_why_a_query_cannot_be_used(site):
    site.module("acme_query", "import no_such_module")
    site.install("acme-query", HOOKS.format(api=1))
    line = next(line for line in site.run("queries").stdout.splitlines() if line.startswith("acme-sum"))
    assert line.endswith("could not be imported: ModuleNotFoundError: No module named 'no_such_module'")


ACME_SUM = """
from skyband_specs.scaffold.query_plugin.query import MineQuery
class AcmeSum(MineQuery):
    kind = 'acme-sum'
"""
NO_ROLES = """
[source]
format = "csv"
path = "rows.csv"
schema = "ts TIMESTAMP, n BIGINT"
options = {{ header = true }}
[query]
kind = "acme-sum"
time = "ts"
value = "n"
window = "1 minute"
every = "1 minute"
{backends}
[sink]
format = "console"
"""


def test_a_query_without_roles_says_that_it_has_none(site, tmp_path):
    code = ACME_SUM
    site.module("acme_query", code)
    site.install("acme-query", HOOKS.format(api=1))
    job = tmp_path / "job.toml"
    job.write_text(NO_ROLES.format(backends='[backends]\nsketch = "exact"'))
    (tmp_path / "rows.csv").write_text("ts,n\n2026-11-22 10:00:00,1\n")
    said = "backends.sketch: this query has no role, and so no backends: leave it out"
    assert said in site.run("check", "--engine", "local", str(job)).stdout
    job.write_text(NO_ROLES.format(backends=""))
    ran = site.run("compare", str(job), "--backends", "sketch=exact,pcsa-ml")
    assert "acme-sum has no role sketch; it has none, so there is nothing to compare" in ran.stderr


def test_a_job_chooses_between_two_that_claim_its_kind(site, tmp_path):
    code = ACME_SUM
    site.module("acme_query", code)
    for name in ("acme-one", "acme-two"):
        site.install(name, HOOKS.format(api=1))
    job = tmp_path / "job.toml"
    job.write_text(NO_ROLES.format(backends=""))
    (tmp_path / "rows.csv").write_text("ts,n\n2026-11-22 10:00:00,1\n")
    check = ("check", "--engine", "local", str(job))
    assert 'choose one with distribution = "acme-one" in a job' in site.run(*check).stdout
    assert site.run(*check, "--set", "query.distribution=acme-two").returncode == 0
    refused = site.run(*check, "--set", "query.distribution=nobody").stdout
    assert "query.distribution: acme-sum is not in nobody; it is in acme-one, acme-two" in refused


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        ("nowhere:EXAMPLES", "could not be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("acme_query:NONE", "has no attribute 'NONE'"),
        ("acme_query:AcmeSum", "must be a QueryExample or a tuple of them"),
    ],
)
def test_examples_that_are_not_there_are_named_with_the_distribution(acme, monkeypatch, examples, said):
    monkeypatch.delitem(sys.modules, "acme_query", raising=False)
    acme("class AcmeSum: pass", f'1, examples="{examples}"')
    with pytest.raises(PluginError, match=f"query 'acme-sum' of acme-query: {examples}") as caught:
        examples_of("acme-sum")
    assert said in str(caught.value)


class _RaisingSums(_Sums):
    def answer(self, at):
        raise ValueError("what now")


class Raises(MineQuery):
    """Raises where it answers."""

    answered_by = f"{__name__}:RaisingExecution"


class RaisingExecution(SumsExecution):
    def processor(self, bindings, answers):
        return _RaisingSums(self.query, answers)


class CannotDump(MineQuery):
    """Raises where its state is written down."""

    answered_by = f"{__name__}:DumplessExecution"


class _DumplessSums(_Sums):
    def dump_state(self):
        raise KeyError("sums")


class DumplessExecution(SumsExecution):
    def processor(self, bindings, answers):
        return _DumplessSums(self.query, answers)


class CannotCheck(MineQuery):
    """Raises where the source's columns are looked at."""

    def check(self, schema):
        raise TypeError("what columns")


class AnswersOtherwise(MineQuery):
    """Answers with another column than it declares."""

    answered_by = f"{__name__}:OtherwiseExecution"


class OtherwiseExecution(SumsExecution):
    def processor(self, bindings, answers):
        return _Sums(self.query, pa.schema([pa.field("at", answers.field("at").type), pa.field("total", pa.int64())]))


class CannotRead(MineQuery):
    """Raises where it reads."""

    def encode_columns(self, batch):
        raise IndexError("no such row")


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Raises, "failed: ValueError: what now"),
        (CannotRead, "failed: IndexError: no such row"),
        (AnswersOtherwise, r"answers with the columns at: .*, total: int64; its `answer_fields` declares .*sum: int64"),
    ],
)
def test_a_query_that_fails_in_the_middle_is_named_with_its_distribution(monkeypatch, cls, said):
    monkeypatch.setitem(BROUGHT_BY, cls, "acme-query")
    (example, _) = EXAMPLES
    with pytest.raises(PluginError, match=f"^query 'mine' of acme-query {said}"):
        local.apply(example.rows, build(cls, example.keys))


def test_a_query_that_was_not_looked_up_here_is_named_with_its_distribution_too(acme, monkeypatch):
    code = ACME_SUM
    monkeypatch.delitem(sys.modules, "acme_query", raising=False)
    acme(code + "\n    def encode_columns(self, batch):\n        raise IndexError('no such row')")
    cls = import_module("acme_query").AcmeSum  # as an executor of Spark has it, unpickled
    with pytest.raises(PluginError, match=r"^query 'acme-sum' of acme-query failed: IndexError: no such row"):
        local.apply(EXAMPLES[0].rows, build(cls, EXAMPLES[0].keys))


def test_a_query_that_cannot_write_its_state_or_check_its_source_is_named_too(monkeypatch):
    for cls in (CannotDump, CannotCheck):
        monkeypatch.setitem(BROUGHT_BY, cls, "acme-query")
    (example, _) = EXAMPLES
    run = local.LocalRun.start(build(CannotDump, example.keys), example.rows.schema)
    run.push(example.rows.combine_chunks().to_batches()[0])
    with pytest.raises(PluginError, match=r"^query 'mine' of acme-query failed: KeyError: 'sums'"):
        run.operator.snapshot()
    with pytest.raises(PluginError, match=r"^query 'mine' of acme-query failed: TypeError: what columns"):
        local.apply(example.rows, build(CannotCheck, example.keys))
