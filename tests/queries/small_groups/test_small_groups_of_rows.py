"""Small groups over windows of rows, as `test_small_groups` has those over time: row for row as by processors."""

import pytest
from small_group_checks import check_answers, check_bounded, check_moves, check_promised
from small_group_queries import BOUNDED, BY_ROWS, CARRYING, CARRYING_ROWS, OFTEN, PROMISED, RANKINGS, SPECS, numbers_of


def limits(number):
    """Of entries: those that rank by two totals have few in a window."""
    return [4, 512] if number < OFTEN else [2, 6] if SPECS[number] in RANKINGS else [6]


@pytest.mark.parametrize(
    ("number", "most"), [(number, most) for number in numbers_of(SPECS, rows=True) for most in limits(number)]
)
def test_small_groups_answer_as_processors_and_their_bytes_tell_no_cuts(number, most, monkeypatch):
    check_answers(number, most, monkeypatch)


@pytest.mark.parametrize("number", numbers_of([spec for spec, _ in BOUNDED], rows=True))
def test_a_group_is_small_where_a_bounded_ranker_has_all_that_there_is(number, monkeypatch):
    check_bounded(number, monkeypatch)


@pytest.mark.parametrize("chance", [None, 0.0])
@pytest.mark.parametrize("number", numbers_of(PROMISED, rows=True))
def test_a_group_is_small_while_its_approximate_ranker_is_exact(number, chance, monkeypatch):
    check_promised(number, chance, monkeypatch)


@pytest.mark.parametrize(
    "spec",
    [BY_ROWS[0], BY_ROWS[19], BY_ROWS[-2], CARRYING[12], *(CARRYING_ROWS[number] for number in (0, 3, 5))],
    ids=lambda spec: spec["kind"],
)
def test_groups_and_their_names_move_to_another_shard(spec):
    check_moves(spec)
