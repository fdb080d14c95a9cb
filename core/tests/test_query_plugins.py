"""Kinds of query that plugins bring: what is wrong with one is told with the distribution's name and the cause."""

import sys

import pytest
from skyband.errors import PluginError
from skyband.queries import load_query, make_query
from skyband.registry import installed

HOOKS = """
    from skyband import hookimpl
    from skyband.info import QueryInfo

    @hookimpl
    def skyband_queries():
        return [QueryInfo("acme-sum", "acme_query:AcmeSum", "a sum", api={api})]
"""


@pytest.fixture
def acme(site):
    """Installs a query whose module is the code given, and finds it anew."""

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
        ("from skyband.queries.query import Query\nclass AcmeSum(Query): kind = 'sum'", "calls itself 'sum'"),
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
    with pytest.raises(PluginError, match=f"for API {api}, this Skyband speaks 1: upgrade {upgrade}"):
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
