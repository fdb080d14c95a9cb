"""The repeated figures, in small: each experiment runs, and its figures point the way that its finding says."""

from itertools import pairwise
from pathlib import Path

import pytest
from bench.papers import distinct, incomplete, setjoin, uncertain, uncertain_join, workload
from bench.papers.experiment import main

PAGE = Path(__file__).parents[3] / "core" / "docs" / "extend" / "papers.md"
MODULES = (distinct, incomplete, setjoin, uncertain, uncertain_join, workload)
EXPERIMENTS = {
    (module.__name__.rpartition(".")[2], experiment.name): experiment
    for module in MODULES
    for experiment in module.EXPERIMENTS
}


def column_of(module, name):
    return EXPERIMENTS[module, name].quick().column


def test_eaa_keeps_less_than_sla_and_approx_the_least():
    column = column_of("incomplete", "windows")
    for sla, eaa, approx in zip(column("sla"), column("eaa"), column("approx"), strict=True):
        assert approx < eaa < sla
    assert min(column("precision of approx")) > 0.9


def test_eaa_keeps_less_the_more_streams_have_in_common():
    column = column_of("incomplete", "correlation")
    assert [eaa > 1.5 * later for eaa, later in pairwise(column("eaa"))] == [True]


def test_eaa_keeps_more_with_more_streams():
    column = column_of("incomplete", "streams")
    assert [more > fewer for fewer, more in pairwise(column("eaa"))] == [True]


def test_swoop_compares_fewer_sets_than_base_and_scase():
    column = column_of("setjoin", "windows")
    few, many = column("sets compared by swoop")
    assert many < 2 * few < column("window")[1] / 10, "base and scase compare a new set with the whole window"


def test_swoop_keeps_few_of_the_pairs():
    column = column_of("setjoin", "pairs")
    columns = map(column, ("kept", "k (1 + ln(w² / 2k))", "pairs that share a token"))
    for kept, expected, every in zip(*columns, strict=True):
        assert kept < 2 * expected < every / 100


def test_swoop_compares_fewer_sets_if_it_searches_the_shortest_lists_first():
    column = column_of("setjoin", "order")
    assert column("compared, shortest") < column("compared, first-seen")


def test_shared_queries_keep_no_more_if_there_are_more_of_them():
    column = column_of("workload", "k")
    alone, shared = column("objects, mintopk"), column("objects, list")
    assert shared[1] < 1.5 * shared[0] and alone[1] > 5 * alone[0]


def test_a_list_for_each_view_takes_more_memory_than_one_for_all():
    column = column_of("workload", "every")
    assert min(column("MB, band / list")) > 1 and column("views")[0] < column("views")[1]


def test_a_single_query_alone_keeps_what_a_shared_one_does():
    column = column_of("workload", "few")
    alone, shared = column("objects, mintopk"), column("objects, list")
    assert alone[0] == shared[0] and alone[1] > shared[1]


def test_k_skb_keeps_less_than_the_papers_arrays():
    column = column_of("distinct", "space")
    arrays, skyband = column("se-fm and se-pcsa, the paper's arrays"), column("k-skb")
    assert all(less < more / 5 for less, more in zip(skyband, arrays, strict=True)) and arrays[1] < arrays[0]


def test_no_error_is_beyond_epsilon_at_the_papers_zeta():
    column = column_of("distinct", "arrays")
    assert dict(zip(column("zeta"), column("beyond epsilon"), strict=True))[100] == 0


def test_errors_are_within_epsilon_and_delta():
    column = column_of("distinct", "errors")
    for name in distinct.SKETCHES:
        assert column(name)[0] < 2 and column(f"{name}, beyond epsilon")[0] <= 50


def test_refined_normal_has_the_smallest_error():
    column = column_of("uncertain", "accuracy")
    for poisson, normal, refined in zip(*map(column, uncertain.APPROXIMATIONS), strict=True):
        assert refined < normal < poisson
    assert column("refined-normal")[-1] < 0.002


def test_windows_keep_more_the_less_certain_their_tuples_are():
    column = column_of("uncertain", "deviations")
    assert column("mean") == pytest.approx([6.12, 82.97], rel=0.3), "smaller windows keep a larger share"


def test_windows_hardly_depend_on_alpha():
    assert 0 < column_of("uncertain", "alphas")("more than in the first row, %")[1] < 15


def test_beta_saves_most_at_a_large_alpha():
    column = column_of("uncertain", "betas")
    for beta in ("beta 0.1", "beta 0.5", "beta 0.9"):
        low, high = column(beta)
        assert high < low <= 1


def test_normal_windows_hardly_change_a_join():
    column = column_of("uncertain_join", "approximations")
    for poisson, normal, refined in zip(*map(column, uncertain_join.APPROXIMATIONS), strict=True):
        assert poisson < normal <= refined and normal > 0.99


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("uncertain", "windows"),
        ("uncertain", "sums"),
        ("uncertain_join", "sizes"),
        ("uncertain_join", "samples"),
        ("uncertain_join", "datasets"),
        pytest.param("distinct", "duplicates", marks=pytest.mark.slow),
    ],
)
def test_what_is_timed_or_differs_by_data_runs(module, name):
    measured = EXPERIMENTS[module, name].quick()
    assert all(value is None or value > 0 for row in measured.rows for value in row[1 : measured.drawn + 1])


def test_a_command_prints_the_claim_and_draws_the_figure(tmp_path, capsys):
    pytest.importorskip("vl_convert")
    main(uncertain.__file__, "a paper", uncertain.EXPERIMENTS, ["accuracy", "--quick", "--out", str(tmp_path)])
    printed, drawn = capsys.readouterr().out, (tmp_path / "uncertain-accuracy.svg").read_text("utf-8")
    for text in ("Paper: Refined normal has the smallest error", "Here: ", "refined-normal"):
        assert text in printed and text in drawn


@pytest.mark.parametrize(("module", "name"), EXPERIMENTS)
def test_the_page_has_each_claim_and_what_we_found(module, name):
    page, experiment = PAGE.read_text("utf-8"), EXPERIMENTS[module, name]
    assert f"| `{name}` | {experiment.claim} | {experiment.finding} |" in page
    assert f"`python -m tests.bench.papers.{module}`" in page
