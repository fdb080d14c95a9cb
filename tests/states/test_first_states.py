"""A stream that begins with a table of states gives the answers of one that had all rows from the start."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from skyband.columns import keyed_frames
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.operator.bind_backends import bind
from skyband.queries import make_query
from skyband_jobs.files.states_table import StatesTable
from skyband_spark.frames.sharded_plan import ShardedPlan, TaskEnds
from skyband_spark.savepoints.first_states import begin_with_states

MINUTE = 60_000_000
START = 1_760_000_400_000_000
COUNT = {
    "kind": "distinct-count", "time": "ts", "item": "page", "windows": ["10 minutes", "1 hour"], "every": "5 minutes",
    "by": "status",
}  # fmt: skip
TOP = {
    "kind": "heavy-hitters", "time": "ts", "object": "page", "windows": ["20 minutes", "1 hour"], "every": "5 minutes",
    "k": 3, "by": "status",
}  # fmt: skip
NUMBERS = {
    "kind": "quantiles", "time": "ts", "value": "bytes", "windows": ["20 minutes", "1 hour"], "every": "5 minutes",
    "at": [0.5, 0.07], "above": [400], "by": "status",
}  # fmt: skip
CASES = {
    "pcsa-ml": (COUNT, {"sketch": {"name": "pcsa-ml", "epsilon": 0.2}}),
    "k-skb": (COUNT, {"sketch": {"name": "k-skb", "epsilon": 0.3}}),
    "exact": (COUNT, {"sketch": "exact"}),
    "rows": (TOP, {"total-ranker": "exact"}),
    "offset": ({**TOP, "offset": "2 minutes"}, {"total-ranker": "exact"}),
    "sample": (TOP, {"total-ranker": {"name": "k-skb", "epsilon": 0.2}}),
    "sum": ({**TOP, "total": "sum", "weight": "bytes"}, {"total-ranker": "exact"}),
    "distinct": ({**TOP, "total": "distinct", "value": "client", "object": "client"}, {"total-ranker": "exact"}),
    "whole": ({**COUNT, "by": []}, {"sketch": "exact"}),
    "ranges": ({**COUNT, "value": "bytes", "ranges": [[0, 500], [500, 2000]]}, {"sketch": "k-skb"}),
    "sum of values": ({**COUNT, "value": "bytes"}, {"sketch": "exact"}),
    "theta": ({**COUNT, "hash": "theta"}, {"sketch": {"name": "k-skb", "epsilon": 0.3}}),
    "two columns": ({**TOP, "by": ["status", "host"]}, {"total-ranker": "exact"}),
    "quantiles": (NUMBERS, {"quantile-sketch": "exact"}),
    "buckets": (NUMBERS, {"quantile-sketch": {"name": "buckets", "epsilon": 0.5}}),
    "numbers": (NUMBERS, {"quantile-sketch": {"name": "k-skb", "epsilon": 0.3}}),
}  # fmt: skip


def log(seed=0, rows=1500):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 300 * MINUTE, rows))
    status = rng.choice(["200", "404", "500"], rows)
    status[(status == "500") & (times > 40 * MINUTE) & (times < 240 * MINUTE)] = "200"  # a group that falls silent
    return pa.table(
        {
            "ts": pa.array(START + times, pa.timestamp("us", "UTC")),
            "page": [f"/{page}" for page in rng.zipf(1.4, rows) % 60],
            "client": rng.integers(0, 50, rows),
            "bytes": rng.integers(0, 1000, rows).astype(float),
            "status": status,
            "host": rng.integers(0, 2, rows),
        }
    )


TABLE = log()


class Stream:
    """One operator of a query, which takes rows as a stream does."""

    def __init__(self, query, backends):
        self.query = make_query(query)
        self.plan = ShardedPlan(self.query, bind(self.query, TABLE.schema, backends), TABLE.schema, 1)
        self.operator, self.late = self.plan.operator(), 0

    def push(self, rows, size=400):
        found = []
        for start in range(0, len(rows), size):
            ends = TaskEnds(self.query)
            batches = rows.slice(start, size).select(self.query.columns).combine_chunks().to_batches()
            for batch in self.plan.to_shuffle_rows(iter(batches)):
                for row in batch.to_pylist():
                    if row["frame"] is not None:
                        self.operator.add(keyed_frames.from_bytes(row["frame"]))
                    ends.add(row["progress"], row["dropped"])
            found.append(self.operator.step(ends.progress))
            restored = self.plan.operator()
            restored.restore(self.operator.snapshot())
            self.late += self.operator.take_metrics().rows_late
            self.operator = restored
        found.append(self.operator.finish(int(np.asarray(TABLE["ts"].cast(pa.int64())).max())))
        return [row for batch in found for row in batch.to_pylist()]


def in_order(rows):
    return sorted(map(str, rows))


def emitted(case, folder, **changes):
    query, backends = CASES[case]
    query = {key: value for key, value in query.items() if key != "ranges"}
    folder.mkdir(exist_ok=True)
    pq.write_table(local.apply(TABLE, {**query, "emit": "state", **changes}, backends), folder / "states.parquet")
    return StatesTable(str(folder))


@pytest.mark.parametrize("kind", ["state", "changed-state"])
@pytest.mark.parametrize("case", CASES)
def test_it_answers_as_one_that_had_all_rows(tmp_path, case, kind):
    query, backends = CASES[case]
    table = emitted(case, tmp_path / "states", emit=kind)
    expected = Stream(query, backends).push(TABLE)
    times = np.asarray(TABLE["ts"].cast(pa.int64()))
    for minute in (65, 140, 250):
        at = START + (minute + (2 if case == "offset" else 0)) * MINUTE
        stream = Stream(query, backends)
        assert begin_with_states(stream.operator, table, at) == at
        last = int(times[times < at].max())
        assert stream.operator.progress.newest == last, "time has come as far as the rows, and not to the moment"
        answers = stream.push(TABLE)
        assert answers, "it goes on"
        assert in_order(answers) == in_order(row for row in expected if row["at"].timestamp() * 1_000_000 > at)
        assert stream.late == np.count_nonzero(times < at), "rows that are in the states are told, and counted once"
        overlap = TABLE.filter(pa.array(times >= at - 7 * MINUTE))
        stream = Stream(query, backends)
        begin_with_states(stream.operator, table, at)
        assert in_order(stream.push(overlap)) == in_order(answers)


def test_the_newest_moment_and_other_windows_up_to_what_is_covered(tmp_path):
    table = emitted("exact", tmp_path / "states")
    cut = int(table.as_of(None)[0])
    changed = {**COUNT, "windows": ["3 minutes", "45 minutes"], "every": "1 minute"}
    early = TABLE.filter(pa.array(np.asarray(TABLE["ts"].cast(pa.int64())) < START + 200 * MINUTE))
    at = START + 200 * MINUTE
    folder = tmp_path / "early"
    folder.mkdir()
    pq.write_table(local.apply(early, {**COUNT, "emit": "state"}, {"sketch": "exact"}), folder / "states.parquet")
    stream = Stream(changed, {"sketch": "exact"})
    assert begin_with_states(stream.operator, StatesTable(str(folder))) == at < cut
    expected = Stream(changed, {"sketch": "exact"}).push(TABLE)
    later = [row for row in expected if row["at"].timestamp() * 1_000_000 > at]
    assert in_order(stream.push(TABLE)) == in_order(later)


@pytest.mark.parametrize("beyond", [-1, 0, 1])
@pytest.mark.parametrize("case", ["exact", "quantiles"])
def test_windows_may_reach_back_to_the_first_row_covered_and_no_microsecond_further(tmp_path, case, beyond):
    """The next answers are five minutes on, so that windows of 65 minutes begin where those of the states did."""
    query, backends = CASES[case]
    at, length = START + 140 * MINUTE, 65 * MINUTE + beyond
    wider = {**query, "windows": [f"{length} microseconds"]}
    stream = Stream(wider, backends)
    if beyond > 0:
        with pytest.raises(ConfigError, match=r"query.windows: the states cover 1 hour, without rows before"):
            begin_with_states(stream.operator, emitted(case, tmp_path / "states"), at)
        return
    begin_with_states(stream.operator, emitted(case, tmp_path / "states"), at)
    later = [row for row in Stream(wider, backends).push(TABLE) if row["at"].timestamp() * 1_000_000 > at]
    assert in_order(stream.push(TABLE)) == in_order(later) != []


@pytest.mark.parametrize("beside", [-1, 0, 1])
@pytest.mark.parametrize("case", ["exact", "quantiles"])
def test_a_group_whose_shorter_windows_are_just_empty_is_saved_before_any_row_comes(tmp_path, case, beside):
    """Its last row is as old as the windows are long, or a microsecond beside that."""
    query, backends = CASES[case]
    at, table = START + 140 * MINUTE, emitted(case, tmp_path / "states")
    times = np.asarray(TABLE["ts"].cast(pa.int64()))
    last = int(times[times < at].max())
    for every in (1, MINUTE // 6):
        shorter = {**query, "windows": [f"{at - last + beside} microseconds"], "every": f"{every} microseconds"}
        stream = Stream(shorter, backends)
        begin_with_states(stream.operator, table, at)
        state, again = stream.operator.snapshot(), stream.plan.operator()
        again.restore(state)
        assert again.snapshot() == state


@pytest.mark.parametrize("case", ["quantiles", "buckets", "numbers"])
@pytest.mark.parametrize("emit", ["state", "changed-state"])
def test_what_is_asked_of_quantiles_may_be_other_than_of_their_states(tmp_path, case, emit):
    table = emitted(case, tmp_path / "states", emit=emit, **({"at": [], "above": []} if emit == "state" else {}))
    asked = {"at": [0.9], "above": [7, 400], "windows": ["45 minutes", "3 minutes"], "every": "3 minutes"}
    query, backends = {**NUMBERS, **asked, "offset": "1 minute"}, CASES[case][1]
    at = START + 140 * MINUTE
    stream = Stream(query, backends)
    assert begin_with_states(stream.operator, table, at) == at
    expected = Stream(query, backends).push(TABLE)
    answers, later = stream.push(TABLE), [row for row in expected if row["at"].timestamp() * 1_000_000 > at]
    if case != "buckets":
        assert in_order(answers) == in_order(later)
        return
    asked = ("at", "status", "window", "quantile", "above")
    held = {tuple(row[name] for name in asked): row for row in answers}
    exact = Stream(query, {"quantile-sketch": "exact"}).push(TABLE)
    truth = {tuple(row[name] for name in asked): row["value"] for row in exact}
    assert {tuple(row[name] for name in asked) for row in later} == {*held}
    assert all(row["low"] <= truth[key] <= row["high"] for key, row in held.items())


@pytest.mark.parametrize(
    ("case", "changes", "backends", "said"),
    [
        ("exact", {"by": "host"}, None, "query.by: the states are grouped by status, .*got host"),
        ("exact", {"by": []}, None, "query.by: .* .got none"),
        ("exact", {"windows": ["2 hours"]}, None, "query.windows: the states cover 1 hour, without rows before"),
        ("exact", {}, {"sketch": "k-skb"}, "backends.sketch: .* of sketch/exact, .* choose exact .got k-skb"),
        ("pcsa-ml", {}, {"sketch": {"name": "pcsa-ml", "epsilon": 0.1}}, "backends.sketch.epsilon: .* epsilon = 0.2"),
        ("exact", {"windows": ["100 rows"], "every": "10 rows"}, None, "query.windows: are in rows"),
        ("ranges", {"value": None, "ranges": None}, None, "query.value: .* keep the values of a column: name it"),
        (
            "exact", {"value": "bytes", "ranges": [[0, 1]]}, None,
            "query.value: the states keep no values: leave it out .got 'bytes'",
        ),
        ("theta", {"hash": None}, None, "backends.sketch.hash: the states were made with hash = 'theta'"),
        ("rows", {"k": 5}, None, "query.k: the states were made with k = 3: use that .got 5"),
        ("rows", {"windows": ["30 minutes"]}, None, "query.windows: the states were made with windows = "),
        ("rows", {"carry": ["host"]}, None, "query.carry: is in no state"),
        ("rows", {"object": "client"}, None, "query.object: is string in the states, but int64 in the source"),
        ("rows", {"object": ["page", "client"]}, None, "query.object: is one column in the states"),
        ("quantiles", {"windows": ["2 hours"]}, None, "query.windows: the states cover 1 hour, without rows before"),
        (
            "buckets", {}, {"quantile-sketch": {"name": "buckets", "alpha": 0.1, "epsilon": 0.5}},
            "backends.quantile-sketch.alpha: the states were made with alpha = 0.01: use that",
        ),
        ("quantiles", {}, {"quantile-sketch": "buckets"}, "backends.quantile-sketch: .* choose exact .got buckets"),
        ("offset", {"offset": "3 minutes"}, None, "query.offset: must be that of the query that made the states"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_over_is_refused_with_the_reason(tmp_path, case, changes, backends, said):
    query, own = CASES[case]
    stream = Stream({**query, **changes}, backends or own)
    with pytest.raises(ConfigError, match=said):
        begin_with_states(stream.operator, emitted(case, tmp_path / "states"))


def test_other_queries_and_moments_are_refused(tmp_path):
    table = emitted("exact", tmp_path / "states")
    with pytest.raises(InputError, match=r"there is no state at .* the nearest are at"):
        begin_with_states(Stream(*CASES["exact"]).operator, table, START + 61 * MINUTE)
    ranked = {
        "kind": "top-k-workload", "time": "ts", "object": "page", "score": "bytes", "by": "status",
        "queries": [{"name": "a", "window": "1 hour", "slide": "5 minutes", "k": 2}],
    }  # fmt: skip
    with pytest.raises(ConfigError, match=r"query.kind: top-k-workload cannot start from a table of states"):
        begin_with_states(Stream(ranked, None).operator, table)
    with pytest.raises(
        ConfigError, match=r"query.kind: the states are of sketch/exact, which heavy-hitters does not use"
    ):
        begin_with_states(Stream(*CASES["rows"]).operator, table)


@pytest.mark.parametrize(
    ("case", "changes", "said", "first"),
    [
        ("rows", {"object": "client"}, "query.object: is int64 in the states", True),
        ("offset", {"offset": "3 minutes"}, "query.offset: must be that of the query that made the states", False),
    ],
)
def test_each_state_of_a_table_must_fit_and_not_the_first_alone(tmp_path, case, changes, said, first):
    """A table that two jobs wrote to, each some groups."""
    emitted(case, tmp_path / "own"), emitted(case, tmp_path / "others", **changes)
    whole = tmp_path / "whole"
    whole.mkdir()
    for name, groups in (("own", ["200"] if first else ["404"]), ("others", ["404"] if first else ["200"])):
        rows = pq.read_table(tmp_path / name)
        rows = rows.filter(pc.is_in(rows["status"], pa.array(groups)))
        at = max(rows["at"].cast(pa.int64()).to_pylist())
        rows = rows.filter(pc.equal(rows["at"].cast(pa.int64()), at))
        moment = pa.array([START + 300 * MINUTE] * len(rows), rows["at"].type)
        pq.write_table(rows.set_column(rows.column_names.index("at"), "at", moment), whole / f"{name}.parquet")
    with pytest.raises(ConfigError, match=said):
        begin_with_states(Stream(*CASES[case]).operator, StatesTable(str(whole)))
