"""Backends chosen by limits on error and memory, judging by the first rows of a job's source."""

import json
import re

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define
from skyband import ConfigError, backends
from skyband.engines import local
from skyband.engines.reference import LocalEngine
from skyband.registry import Binding, installed
from skyband.registry import registry as registry_module
from skyband.registry.discovery import Plugin
from skyband.registry.registry import Registry
from skyband_distinct.k_skb.backend import KSkb
from skyband_jobs import JobError, choose_backends, read_job
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.opening import OpenSource
from skyband_jobs.running import backend_choice
from skyband_jobs.running.backend_choice import choice_of, sample_of
from skyband_jobs.running.limits import Limits, limited, parse_size
from skyband_jobs.running.sample import expected_size


@define(eq=False)
class Acme(KSkb):
    """A third party's sketch."""

    name = "acme"


@define(eq=False)
class Broken(KSkb):
    """One that cannot take a row."""

    name = "broken"

    def _update(self, times, keys):
        raise ZeroDivisionError("by nothing")


KINDS = {
    "sketch": 'kind = "distinct-count"\nitem = "id"\nwindows = ["10 minutes"]\nevery = "1 minute"',
    "total-ranker": 'kind = "heavy-hitters"\nobject = "id"\nwindows = ["10 minutes"]\nevery = "1 minute"\nk = 3',
    "quantile-sketch": 'kind = "quantiles"\nvalue = "value"\nat = [0.5]\nwindows = ["10 minutes"]\nevery = "1 minute"',
    "set-matcher": 'kind = "near-duplicates"\nid = "row"\ntokens = "words"\nthreshold = 0.6\nwindow = "1 minute"',
}  # fmt: skip


@pytest.fixture
def job(tmp_path):
    """Writes a job with 20,000 rows of 20 minutes; called with a role, its backend, and further changes."""
    numbers = np.random.default_rng(5)
    times = np.arange(20_000) * 60_000
    ids = numbers.integers(0, 15_000, 20_000)
    words = [[f"w{word}" for word in row] for row in numbers.integers(0, 30, (20_000, 4)).tolist()]
    rows = pa.table({
        "ts": pa.array(times, pa.timestamp("us", "UTC")), "id": ids, "value": numbers.random(20_000),
        "row": np.arange(20_000), "words": words,
    })  # fmt: skip
    (tmp_path / "rows").mkdir()
    pq.write_table(rows, tmp_path / "rows" / "a.parquet")

    def read(role, choice, *sets, engine="local", kind=None):
        text = (
            f'[source]\nformat = "parquet"\npath = "rows"\n[query]\ntime = "ts"\n{KINDS[kind or role]}\n'
            f'[backends]\n{role} = {choice}\n[sink]\nformat = "parquet"\npath = "answers"\n'
        )
        (tmp_path / "job.toml").write_text(text)
        return read_job(tmp_path / "job.toml", sets, engine)

    return read


def problem(job, role, choice, *sets, **options):
    with pytest.raises(JobError) as caught:
        job(role, choice, *sets, **options)
    return str(caught.value)


def states(found, role, **limits):
    """The bytes that each backend of a role takes, best first."""
    choice = choice_of(role, Limits(**limits), found.query, sample_of(found.query, found.open_source), {})
    return {each.info.name: each.state.nbytes for each in choice.candidates if each.state is not None}


def test_with_memory_for_it_the_exact_backend_is_taken(job):
    found = job("sketch", '{ memory = "1 GB" }')
    assert found.backends == {"sketch": {"name": "exact"}}
    assert found.bindings["sketch"].info.name == "exact"
    assert found.limits == {"sketch": {"memory": "1 GB"}}


def test_with_less_memory_the_role_s_default_is_taken_with_the_error_that_is_allowed(job):
    sizes = states(job("sketch", '"exact"'), "sketch")
    assert sizes["pcsa-ml"] < sizes["exact"]
    between = (sizes["pcsa-ml"] + sizes["exact"]) // 2
    found = job("sketch", f'{{ error = 0.05, memory = "{between} B" }}')
    assert found.backends == {"sketch": {"name": "pcsa-ml", "epsilon": 0.05}}


def test_where_only_the_error_is_limited_the_smallest_state_is_taken(job):
    found = job("sketch", "{ error = 0.02 }")
    sizes = states(found, "sketch", error=0.02)
    assert min(sizes, key=sizes.get) == found.backends["sketch"]["name"] == next(iter(sizes))
    assert sizes["exact"] > sizes["pcsa-ml"]


def test_auto_means_256_megabytes(job):
    assert Limits.of("sketch", "auto") == Limits.of("sketch", {"memory": "256 MB"}) == Limits(memory=256_000_000)
    assert job("sketch", '"auto"').backends["sketch"] == {"name": "exact"}


def test_an_error_that_no_sketch_can_have_leaves_the_exact_one(job):
    found = job("sketch", "{ error = 0.00001 }")
    assert found.backends["sketch"] == {"name": "exact"}
    assert any("must be at least 0.001" in line for line in found.choices)


def test_where_nothing_is_small_enough_the_nearest_is_named(job):
    text = problem(job, "sketch", '{ memory = "1 KB" }')
    assert 'no installed backend meets memory = "1.0 KB"; the nearest is pcsa-ml, which needs' in text


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("{ memory = 200 }", 'backends.sketch.memory: must be a size such as "200 MB" (got 200)'),
        ('{ memory = "much" }', "backends.sketch.memory: must be a size such as \"200 MB\" (got 'much')"),
        ('{ memory = "0 MB" }', "backends.sketch.memory: must be a size"),
        ("{ error = 1.0 }", "backends.sketch.error: must be a number between 0 and 1, such as 0.02 for 2 % (got 1.0)"),
        ("{ error = nan }", "backends.sketch.error: must be a number between 0 and 1"),
        (
            "{ eror = 0.1 }",
            "backends.sketch.eror: unknown; did you mean 'error'?; for a parameter of a backend, give its",
        ),
        ('{ error = 0.1, memroy = "1 GB" }', "backends.sketch.memroy: unknown; did you mean 'memory'?"),
        ('{ name = "k-skb", memory = "1 GB" }', "backends.sketch.memory: unknown; known: delta"),
    ],
)
def test_limits_that_are_none_are_problems(job, choice, said):
    assert said in problem(job, "sketch", choice)


def test_sizes():
    assert [parse_size(text) for text in ("1B", "2 KB", "1.5 mb", " 3 GB ", "4", "MB", "-1 MB", "1e3 MB", None)] == [
        1, 2000, 1_500_000, 3_000_000_000, None, None, None, None, None,
    ]  # fmt: skip


def test_a_stream_without_rows_yet_needs_a_name(job, tmp_path):
    (tmp_path / "none").mkdir()
    changes = ("source.path=none", "source.stream=true", "source.schema=ts TIMESTAMP, id BIGINT")
    text = problem(job, "sketch", "{ error = 0.1 }", *changes, "sink.checkpoint=kept", engine="spark")
    assert "backends.sketch: needs rows to measure on" in text


@pytest.mark.parametrize("kind", KINDS)
def test_any_role_is_chosen_and_its_job_answers(job, kind):
    found = job(kind, '"auto"')
    assert found.bindings[kind].info.guarantee == "exact"
    run = found.begin_on(LocalEngine())
    for batch in found.rows.batches(found.query.columns):
        run.add(batch)
    assert run.finish().num_rows


@pytest.mark.parametrize("kind", ["sketch", "total-ranker", "quantile-sketch"])
def test_what_is_expected_of_a_longer_window_is_right_within_a_factor_of_two(job, kind):
    found = job(kind, '"exact"')
    rows = pa.Table.from_batches(list(found.rows.batches(found.query.columns)))
    whole = expected_size(found.query, found.bindings, rows)
    start = expected_size(found.query, found.bindings, rows.slice(0, len(rows) // 8))
    assert 0.5 < start.nbytes / whole.nbytes < 2
    assert 0.5 < start.retained / whole.retained < 2


def test_a_backend_that_takes_far_longer_than_the_default_is_left_out(job, monkeypatch):
    monkeypatch.setattr(backend_choice, "_SECONDS", 0.0)
    monkeypatch.setattr(backend_choice, "_SLOWER", 0.01)
    found = job("sketch", '"auto"')
    assert found.backends["sketch"] == {"name": "pcsa-ml"}
    others = [info for info in backends("sketch") if info.guarantee != "heuristic" and info.name != "pcsa-ml"]
    assert sum("takes more than" in line for line in found.choices) == len(others) > 0


def test_a_backend_of_a_plugin_takes_part_and_one_that_fails_is_named(job, monkeypatch):
    infos = {info.name: info for info in backends("sketch")}
    own = attrs.evolve(infos["k-skb"], name="acme", factory=f"{__name__}:Acme")
    broken = attrs.evolve(infos["k-skb"], name="broken", factory=f"{__name__}:Broken")
    absent = attrs.evolve(infos["k-skb"], name="absent", factory="no_such_module:Absent")
    made = Registry([*installed().plugins, Plugin("acme", "1.0", "x", "x", (own, broken, absent))])
    for module in (backend_choice, registry_module):
        monkeypatch.setattr(module, "installed", lambda: made)
    found = job("sketch", '"exact"')
    choice = choice_of("sketch", Limits(error=0.1), found.query, sample_of(found.query, found.open_source), {})
    unfit = {each.info.name: each.unfit for each in choice.candidates}
    assert unfit["acme"] == ""
    assert "ZeroDivisionError" in unfit["broken"] and "no_such_module" in unfit["absent"]
    assert unfit["pcsa-ml"] == ""


def test_a_damaged_record_of_a_choice_is_not_believed(job, monkeypatch):
    for before in ({"sketch": 5}, {"sketch": {"limits": {"error": 0.1}}}, {"sketch": {"backend": {"name": "k-skb"}}}):
        monkeypatch.setattr(JobEngine, "chosen_before", lambda self, sink, before=before: before)
        assert job("sketch", "{ error = 0.1 }", "source.stream=true").choices


def test_a_stream_that_goes_on_keeps_its_backend(job, monkeypatch):
    limits = {"sketch": {"memory": "1 KB"}}
    before = {"sketch": {"limits": limits["sketch"], "backend": {"name": "k-skb", "epsilon": 0.2}}}
    monkeypatch.setattr(JobEngine, "chosen_before", lambda self, sink: before)
    found = job("sketch", '{ memory = "1 KB" }', "source.stream=true")
    assert found.backends == {"sketch": {"name": "k-skb", "epsilon": 0.2}}
    assert not found.choices
    assert "the nearest is" in problem(
        job, "sketch", '{ memory = "2 KB" }', "source.stream=true"
    )  # other limits are a new choice


def test_a_record_in_a_checkpoint_is_read_by_spark_s_engine(tmp_path, job):
    record = {"sketch": {"limits": {"error": 0.1}, "backend": {"name": "k-skb", "epsilon": 0.1}}}
    (tmp_path / "kept" / "offsets").mkdir(parents=True)
    (tmp_path / "kept" / "skyband-job.json").write_text(json.dumps({"backends": record}))
    stream = ("source.stream=true", "source.schema=ts TIMESTAMP, id BIGINT", "sink.checkpoint=kept")
    assert job("sketch", "{ error = 0.1 }", *stream, engine="spark").backends["sketch"]["name"] != "k-skb"
    (tmp_path / "kept" / "offsets" / "0").write_text("v1")
    assert job("sketch", "{ error = 0.1 }", *stream, engine="spark").backends["sketch"]["name"] == "k-skb"


def test_a_column_that_is_not_there_is_told_once_with_limits_too(job):
    text = problem(job, "sketch", "{ error = 0.1 }", "query.item=idd")
    assert "query.item: the source has no column 'idd'; did you mean 'id'?" in text
    assert "backends" not in text
    both = problem(job, "sketch", '{ memory = "1 B" }', "sink.trigger=soon")
    assert "sink.trigger" in both and "backends.sketch: no installed backend meets" in both


def test_a_batch_without_rows_takes_the_default_and_a_stream_waits(job, tmp_path):
    (tmp_path / "empty.csv").write_text("ts,id\n")
    text = ("source.format=csv", "source.path=empty.csv", "source.options={ header = true }")
    text += ("source.schema=ts TIMESTAMP, id BIGINT",)
    assert job("sketch", "{ error = 0.1 }", *text).bindings["sketch"].info.name == "pcsa-ml"
    stream = problem(job, "sketch", "{ error = 0.1 }", *text, "source.stream=true")
    assert "needs rows to measure on" in stream


def test_a_row_that_cannot_be_read_is_left_out_of_the_sample_and_is_the_run_s_to_report(job, tmp_path):
    (tmp_path / "bad.csv").write_text("ts,id\n2026-01-01 00:00:00,x\n2026-01-01 00:00:01,5\n")
    text = ("source.format=csv", "source.path=bad.csv", "source.options={ header = true }")
    text += ("source.schema=ts TIMESTAMP, id BIGINT",)
    limits = '{ memory = "1 GB" }'
    assert "source.path" in problem(job, "sketch", limits, *text, "query.bad_rows=fail")
    assert job("sketch", limits, *text, "query.bad_rows=count").bindings["sketch"].info.name == "exact"


def test_a_checkpoint_elsewhere_cannot_keep_the_choice(job):
    stream = ("source.stream=true", "source.schema=ts TIMESTAMP, id BIGINT", "sink.checkpoint=s3a://bucket/kept")
    text = problem(job, "sketch", "{ error = 0.1 }", *stream, engine="spark")
    assert "backends: limits need a checkpoint on this machine" in text


def test_without_a_source_in_this_process_there_is_nothing_to_measure(job):
    found = job("sketch", '"exact"')
    with pytest.raises(Exception, match="needs rows to measure on"):
        choice_of("sketch", Limits(error=0.1), found.query, sample_of(found.query, OpenSource(found.schema)), {})


QUERY = {"kind": "distinct-count", "time": "ts", "item": "id", "windows": ["10 minutes"], "every": "1 minute"}


def few_rows(number=2000):
    times = pa.array(np.arange(number) * 600_000, pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "id": np.arange(number), "other": ["x"] * number})


@pytest.mark.parametrize(
    "shown",
    [
        lambda rows: rows,
        lambda rows: rows.to_batches(max_chunksize=700),
        lambda rows: rows.to_pandas(),
        lambda rows: rows.set_column(1, "id", rows["id"].cast(pa.string()).cast(pa.string_view())),
    ],
    ids=["table", "batches", "pandas", "views"],
)
def test_a_program_chooses_by_limits_and_passes_what_was_chosen(shown):
    rows = shown(few_rows())
    backends = choose_backends(rows, QUERY, {"sketch": {"memory": "1 GB"}})
    assert backends == {"sketch": {"name": "exact"}}
    assert local.apply(rows, QUERY, backends).equals(local.apply(rows, QUERY, {"sketch": "exact"}))
    loose = choose_backends(rows, QUERY, {"sketch": {"error": 0.3}})
    assert loose["sketch"]["epsilon"] == 0.3


def test_a_program_s_choice_is_that_of_a_job(job):
    found = job("sketch", "{ error = 0.02 }")
    rows = pa.Table.from_batches(list(found.rows.batches(found.query.columns)))
    assert choose_backends(rows, found.query, {"sketch": {"error": 0.02}}) == found.backends


def test_a_program_without_rows_takes_the_default_and_other_backends_stay():
    assert choose_backends(few_rows(0), QUERY, {"sketch": "auto"}) == {"sketch": "pcsa-ml"}
    assert choose_backends(few_rows(), QUERY, {"sketch": "k-skb"}) == {"sketch": "k-skb"}


def test_a_program_reads_no_more_than_the_rows_it_measures_on():
    def batches():
        yield from few_rows(100_000).to_batches(max_chunksize=50_000)
        raise AssertionError("read on")

    assert choose_backends(batches(), QUERY, {"sketch": "auto"})["sketch"]["name"] == "exact"


@pytest.mark.parametrize(
    ("rows", "backends", "said"),
    [
        (few_rows(), {"sketch": {"memory": "1 B"}}, "backends.sketch: no installed backend meets"),
        (few_rows(), {"sketch": {"eror": 0.1}}, "backends.sketch.eror: unknown; did you mean 'error'?"),
        (few_rows().drop(["id"]), {"sketch": "auto"}, "query.item: the source has no column 'id'"),
    ],
)
def test_what_a_program_asks_wrongly(rows, backends, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        choose_backends(rows, QUERY, backends)


@pytest.mark.parametrize("limits", ["auto", {"error": 0.1}, {"memory": "1 MB", "error": 0.1}])
def test_where_a_program_cannot_choose_it_is_told_how(limits):
    with pytest.raises(
        ConfigError, match=r"backends\.sketch: cannot be chosen by limits here: .*choose_backends\(rows"
    ):
        local.apply(few_rows(), QUERY, {"sketch": limits})


@define(eq=False)
class WithErrorRate(KSkb):
    """A default backend with a parameter whose name is like that of a limit."""

    name = "pcsa-ml"
    error_rate: float = 0.1


def test_a_parameter_of_the_default_backend_is_not_taken_for_a_misspelt_limit(monkeypatch):
    assert limited("sketch", {"error_rate": 0.2}) and limited("sketch", {"eror": 0.2}) and limited("sketch", "auto")
    assert not limited("sketch", {"epsilon": 0.2}) and not limited("sketch", {"name": "k-skb", "error_rate": 0.2})
    monkeypatch.setattr(Binding, "backend_class", WithErrorRate)
    assert not limited("sketch", {"error_rate": 0.2})
    assert limited("sketch", {"eror": 0.2}) and limited("sketch", {"error": 0.2})
