"""heavy-hitters equals its definition and DuckDB, on any engine, shards, backend and cuts."""

from collections import Counter, defaultdict
from datetime import UTC

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from skyband.engines.local import apply
from skyband.errors import ConfigError
from skyband.groups.execution import execution_of
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

SECOND = 1_000_000
ROWS = 900
WINDOWS = {"10 seconds": 10, "30 seconds": 30}
TOTALS = {
    "rows": {},
    "sum": {"total": "sum", "weight": "amount", "unit": 0.25},
    "distinct": {"total": "distinct", "value": "page"},
}
PLAIN = {"kind": "heavy-hitters", "time": "t", "object": "client", "every": "5 seconds", "k": 3}
FORMS = {"k": {"k": 3}, "share": {"share": 0.15}, "both": {"k": 2, "share": 0.1}}
FORMS |= {"enough": {"at_least": 4}, "enough and more": {"at_least": 3, "share": 0.1, "k": 4}}


def table(seed=1, names=str):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 90, ROWS)) * SECOND + rng.integers(0, 5, ROWS) * 1000
    clients = rng.zipf(1.5, ROWS) % 40
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us")),
            "client": [names(client) for client in clients],
            "amount": rng.integers(0, 20, ROWS) * 0.25,
            "page": [f"p{page}" for page in rng.integers(0, 8, ROWS)],
            "status": rng.choice([200, 404], ROWS),
        }
    )


def query(total="rows", form="k", **others):
    plain = {**PLAIN, "windows": list(WINDOWS), "k": None}
    return make_query({**plain, **TOTALS[total], **FORMS[form], **others})


def expected(rows, total, form, order=lambda client: client):
    """{(at, window): [(object, total, share), …]}, from all rows of each window."""
    found = {}
    times = rows.column("t").cast(pa.int64()).to_numpy()
    clients, pages = rows.column("client").to_pylist(), rows.column("page").to_pylist()
    amounts = rows.column("amount").to_pylist()
    longest = max(WINDOWS.values())
    for at in range(5, 95, 5):
        if not ((times >= (at - longest) * SECOND) & (times < at * SECOND)).any():
            continue
        for name, window in WINDOWS.items():
            inside = np.flatnonzero((times >= (at - window) * SECOND) & (times < at * SECOND)).tolist()
            totals, pairs = Counter(), defaultdict(set)
            for row in inside:
                pairs[clients[row]].add(pages[row])
                totals[clients[row]] += {"rows": 1, "sum": amounts[row], "distinct": 0}[total]
            if total == "distinct":
                totals = Counter({client: len(values) for client, values in pairs.items()})
            totals = {client: amount for client, amount in totals.items() if amount > 0}
            grand, asked = sum(totals.values()), FORMS[form]
            best = sorted(totals.items(), key=lambda entry: (-entry[1], order(entry[0])))[: asked.get("k")]
            best = [
                entry for entry in best if entry[1] >= max(asked.get("share", 0.0) * grand, asked.get("at_least", 0))
            ]
            found[at, name] = [(client, amount, amount / grand) for client, amount in best]
    return {key: best for key, best in found.items() if best}


def answers(result):
    found = defaultdict(list)
    for row in result.to_pylist():
        at = round(row["at"].timestamp() - row["at"].replace(hour=0, minute=0, second=0).timestamp())
        assert row["low"] <= row["total"] <= row["high"]
        found[at, row["window"]].append((row["rank"], row["object"], row["total"], row["share"]))
    assert all([rank for rank, *_ in rows] == list(range(1, len(rows) + 1)) for rows in found.values())
    return {key: [tuple(rest) for _, *rest in rows] for key, rows in found.items()}


def on_shards(rows, asked, shards, backends=None):
    """The merged answers of several operators, each with its part of the rows."""
    (batch,) = rows.select(asked.columns).combine_chunks().to_batches()
    frame = encode(asked, batch).frame
    parts, bindings = execution_of(asked).partition(frame, shards), bind(asked, rows.schema, backends)
    latest = int(frame.column("time").to_numpy().max())
    found = []
    for shard in range(shards):
        operator = Operator(asked, bindings, rows.schema, shared=True)
        operator.add(frame.take(pa.array(parts.rows[parts.shards == shard])))
        found.append(operator.finish(latest))
    return execution_of(asked).merge(pa.Table.from_batches(found))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("total", TOTALS)
def test_it_equals_its_definition(total, form):
    rows = table(names=int)
    assert answers(apply(rows, query(total, form))) == expected(rows, total, form)


@pytest.mark.parametrize("total", TOTALS)
def test_names_are_returned_and_ties_rank_by_hash(total):
    from skyband.columns.hashing import hash_column

    def place(name):
        return int(hash_column(pa.array([name])).view(np.int64)[0])

    rows = table(2, names=lambda client: f"client {client}")
    assert answers(apply(rows, query(total))) == expected(rows, total, "k", order=place)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("total", TOTALS)
def test_shards_answer_like_one_stream(total, form):
    rows = table(3, names=int)
    one, many = apply(rows, query(total, form)), on_shards(rows, query(total, form), 3)
    keys = [("at", "ascending"), ("window", "ascending"), ("rank", "ascending")]
    assert many.sort_by(keys).to_pylist() == one.sort_by(keys).to_pylist()


@pytest.mark.parametrize("backend", ["exact", "misra-gries"])
def test_shards_add_grand_totals_in_units_that_float64_cannot_represent(backend):
    rows = table(3, names=int)
    tenths = pa.array(np.random.default_rng(3).integers(0, 20, ROWS) / 10)
    rows = rows.set_column(rows.column_names.index("amount"), "amount", tenths)
    asked = query("sum", "share", unit=0.1)
    one, many = apply(rows, asked, {"total-ranker": backend}), on_shards(rows, asked, 3, {"total-ranker": backend})
    keys = [("at", "ascending"), ("window", "ascending"), ("rank", "ascending")]
    assert many.sort_by(keys).to_pylist() == one.sort_by(keys).to_pylist()


@pytest.mark.parametrize("form", ["k", "enough", "enough and more"])
def test_groups_are_separate_streams(form):
    rows = table(4, names=int)
    result = apply(rows, query(form=form, by="status"))
    for status in (200, 404):
        alone = rows.filter(pa.compute.equal(rows.column("status"), status))
        mine = result.filter(pa.compute.equal(result.column("status"), status)).drop_columns("status")
        assert answers(mine) == answers(apply(alone, query(form=form))) != {}


@pytest.mark.parametrize("backend", ["misra-gries", "k-skb"])
@pytest.mark.parametrize("total", ["rows", "sum"])
@pytest.mark.parametrize("form", ["k", "enough and more"])
def test_bounded_backends_are_exact_on_few_rows(form, total, backend):
    rows = table(5, names=int)
    shuffled = rows.take(np.random.default_rng(1).permutation(ROWS))
    exact = answers(apply(rows, query(total, form)))
    assert answers(apply(rows, query(total, form), {"total-ranker": backend})) == exact
    assert answers(apply(shuffled, query(total, form), {"total-ranker": backend})) == exact


def test_windows_of_rows_count_rows():
    rows = table(6, names=int)
    result = apply(rows, query(windows=["100 rows"], every="50 rows")).to_pylist()
    clients = rows.sort_by([("t", "ascending"), ("client", "ascending")]).column("client").to_pylist()
    for at in range(50, ROWS + 1, 50):
        best = sorted(Counter(clients[max(0, at - 100) : at]).items(), key=lambda entry: (-entry[1], entry[0]))[:3]
        assert [(row["object"], row["total"]) for row in result if row["at"] == at] == best


def test_the_smallest_totals_are_the_last_ranks_of_all_objects(monkeypatch):
    """As the error of `order` says, with a k far above the 40 objects."""
    rows = table()
    with pytest.raises(
        ConfigError, match=r"^order: .* drop this; for the smallest totals, set a k above the number of"
    ):
        query("sum", order="smallest")
    answers = apply(rows, query("sum", k=1_000_000_000)).to_pylist()
    monkeypatch.setitem(FORMS, "all", {})
    wanted = expected(rows, "sum", "all")
    found = defaultdict(list)
    for row in answers:
        found[row["at"], row["window"]].append(row)
    assert len(found) == len(wanted)
    for (at, window), entries in found.items():
        totals = sorted(amount for _, amount, _ in wanted[int(at.replace(tzinfo=UTC).timestamp()), window])
        assert [row["rank"] for row in entries] == list(range(1, len(totals) + 1))
        assert [row["total"] for row in entries][::-1] == totals


def test_it_equals_duckdb():
    requests = table(7, names=int)
    truth = duckdb.sql(
        """
        with moments as (select unnest(range(5, 95, 5)) as moment),
        totals as (
            select moment, client, sum(amount) as added from moments join requests
            on epoch_us(t) < moment * 1000000 and epoch_us(t) >= (moment - 10) * 1000000 group by moment, client)
        select moment, client, added, added / sum(added) over (partition by moment) as part from totals where added > 0
        qualify row_number() over (partition by moment order by added desc, client) <= 3
        """
    ).fetchall()
    got = answers(apply(requests, query("sum")))
    found = {(at, *row) for (at, window), rows_ in got.items() if window == "10 seconds" for row in rows_}
    assert {(at, client, total) for at, client, total, _ in truth} == {row[:3] for row in found}
    shares = {(at, client): share for at, client, _, share in found}
    assert all(shares[at, client] == pytest.approx(share) for at, client, _, share in truth)


def test_invalid_rows_are_left_out_and_reported():
    schema = pa.schema([("t", pa.timestamp("us")), ("client", pa.int64()), ("amount", pa.float64())])
    given = [(1, 0.5), (None, 0.5), (1, None), (1, float("nan")), (1, -0.25), (1, 0.3), (1, 1e300), (2, 0.25)]
    columns = [pa.array([SECOND] * len(given), schema.field("t").type), *map(pa.array, zip(*given, strict=True))]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    encoded = encode(query("sum"), batch)
    assert {reason: count for reason, count in encoded.dropped.items() if count} == {
        "null object": 1,
        "no weight": 2,
        "negative weight": 1,
        "weight no multiple of unit": 1,
        "weight above 2^53 units": 1,
    }
    assert encoded.frame.column("weight").to_pylist() == [0.5, 0.25]


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**63 - 1])
def test_whole_weights_beyond_2_53_are_left_out_and_reported(number):
    schema = pa.schema([("t", pa.timestamp("us")), ("client", pa.int64()), ("amount", pa.int64())])
    batch = pa.RecordBatch.from_pydict({"t": [SECOND] * 2, "client": [1, 1], "amount": [number, 3]}, schema=schema)
    encoded = encode(query("sum"), batch)
    left_out = {reason: count for reason, count in encoded.dropped.items() if count}
    assert left_out == ({"weight above 2^53 units": 1} if number > 2**53 * query("sum").unit else {})


@pytest.mark.parametrize(
    ("keys", "field", "said"),
    [
        ({"k": None}, "k", "is required without `share` or `at_least`"),
        ({"at_least": 0}, "at_least", "must be above 0"),
        ({"at_least": 0.05}, "at_least", "for a part of the grand total set share = 0.05"),
        ({"at_least": "20"}, "at_least", "must be a number"),
        ({"at_least": float("inf")}, "at_least", "must be"),
        ({"min_total": 20}, "min_total", "set at_least = 20"),
        ({"threshold": 20}, "threshold", "set at_least = 20"),
        ({"share": 0.0}, "share", "must be above 0"),
        ({"share": 1.5}, "share", "at most 1"),
        ({"total": "sum", "weight": None}, "weight", "is required with total = 'sum'"),
        ({"total": "distinct", "value": None}, "value", "is required with total = 'distinct'"),
        ({"value": "page"}, "value", "requires total = 'distinct'"),
        ({"weight": "amount"}, "weight", "requires total = 'sum'"),
        ({"unit": 0.5}, "unit", "requires total = 'sum'"),
        ({"every": "5 rows"}, "every", "must be in time"),
        ({"total": "mean"}, "total", "must be one of rows, sum, distinct"),
    ],
)
def test_invalid_keys_are_refused_with_the_remedy(keys, field, said):
    with pytest.raises(ConfigError) as caught:
        make_query({**PLAIN, "windows": list(WINDOWS), **keys})
    assert [problem.field for problem in caught.value.problems] == [field]
    assert said in str(caught.value)


def test_misra_gries_refuses_distinct_values():
    with pytest.raises(ConfigError, match="must be rows or sum with misra-gries"):
        apply(table(), query("distinct"), {"total-ranker": "misra-gries"})
