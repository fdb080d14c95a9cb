"""`skyband queries` and `skyband describe query/KIND`: what they show of a kind of query, from its class and plugin."""

import json

import attrs
import pytest
from skyband.queries import kinds, load_query
from skyband.registry import installed


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_is_listed_with_its_roles_and_who_brings_it(folder, kind):
    entry = next(one for one in json.loads(folder.call("queries", "--json").stdout)["queries"] if one["kind"] == kind)
    assert entry["roles"] == list(load_query(kind).roles)
    assert entry["distribution"] == installed().queries.named(kind).distribution
    assert entry["problem"] is None
    row = next(line.split() for line in folder.call("queries").stdout.splitlines() if line.split()[0] == kind)
    assert row[-1] == "ok"
    assert entry["distribution"] in row


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_is_described_with_all_its_keys_and_columns(folder, kind):
    told = folder.call("describe", f"query/{kind}").stdout
    assert told.startswith(f"query/{kind}: ")
    as_json = json.loads(folder.call("describe", f"query/{kind}", "--json").stdout)
    fields = [field.name for field in attrs.fields(load_query(kind)) if field.init]
    assert [key["name"] for key in as_json["keys"]] == fields
    assert as_json["columns"], "its example says what the columns are"
    for entry in [*as_json["keys"], *as_json["columns"]]:
        assert entry["name"] in told
    assert all(key["help"] for key in as_json["keys"])
    assert as_json["drop_reasons"] == ["null time", *load_query(kind).drop_reasons]


def test_what_describe_says_of_a_key(folder):
    told = json.loads(folder.call("describe", "query/top-k", "--json").stdout)
    (k,) = [key for key in told["keys"] if key["name"] == "k"]
    assert k == {
        "name": "k",
        "type": "int",
        "required": True,
        "default": None,
        "bounds": "at least 1",
        "help": "objects in an answer",
    }
    assert [column["name"] for column in told["columns"]] == ["at", "rank", "object", "score"]


@pytest.mark.parametrize("command", ["describe", "verify"])
@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("top-k", "must be ROLE/NAME, query/KIND or engine/NAME (got 'top-k'); did you mean query/top-k?"),
        ("query/topk", "unknown query 'topk'; did you mean 'top-k'?"),
        ("query/", "must be query/KIND, such as query/"),
        ("query", "must be query/KIND, such as query/"),
    ],
)
def test_an_unknown_query_is_a_wrong_call(folder, command, key, said):
    called = folder.call(command, key)
    assert called.exit_code == 2
    assert said in called.stderr
    assert called.stdout == ""
