"""Conditions that name a word are evaluated on its rows only, with the rows that they meet on all."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.errors import InputError
from skyband_detect.detections import conditions
from skyband_detect.detections.conditions import rows_by_condition
from skyband_expressions.row_conditions import rows_that_meet

WHERES = (
    "action = 'login'",
    "'login' = action",
    "action = 'login' AND port > 20",
    "port > 20 AND (action = 'copy' AND ok)",
    "action IN ('login', 'exit', 'none', 'login')",
    "action IN ('login', 'exit') AND user = 'u1'",
    "action = 'never'",
    "action = 'login' OR port > 70",
    "NOT action = 'login'",
    "action <> 'login' AND user = 'u2'",
    "action = user",
    "action = 'login' AND user IS NULL",
    "port = 3 AND ok",
    "lower(action) = 'login' AND port > 5",
    "action = ''",
    "action = 'login' AND 100 / port > 3",
    "port % 7 = 3 AND action = 'copy'",
    "action = NULL",
)


def batch(seed, rows=500):
    rng = np.random.default_rng(seed)

    def some(values):
        return pa.array([values[place] for place in rng.integers(0, len(values), rows)])

    return pa.RecordBatch.from_pydict(
        {
            "action": some(["login", "copy", "exit", "", None, "u1"]),
            "user": some(["u1", "u2", None, "login"]),
            "port": pa.array(rng.integers(1, 100, rows), mask=rng.random(rows) < 0.1),
            "ok": some([True, False, None]),
        }
    )


@pytest.mark.parametrize("kind", ["plain", "dictionaries", "large", "empty"])
def test_the_rows_are_those_that_the_whole_condition_meets(kind):
    for seed in range(3):
        rows = batch(seed)
        if kind == "dictionaries":
            rows = rows.set_column(0, "action", rows["action"].dictionary_encode())
        elif kind == "large":
            rows = rows.set_column(0, "action", rows["action"].cast(pa.large_string()))
        elif kind == "empty":
            rows = rows.slice(0, 0)
        found = dict(rows_by_condition(WHERES, rows))
        for where in WHERES:
            expected = np.flatnonzero(rows_that_meet(where, rows))
            assert found[where].tolist() == expected.tolist(), where


@pytest.mark.parametrize("words", [0, 1, 2, *range((1 << 16) - 2, (1 << 16) + 2)])
def test_words_have_their_rows_and_nulls_none_however_many_words_there_are(words):
    """Around the number of words from which their codes take more bits, the code of null among them."""
    rng = np.random.default_rng(words)
    numbers = np.concatenate([once := rng.permutation(words), rng.integers(0, words + 1, 300), [words], once[:9]])
    column = pa.array([None if number == words else f"w{number}" for number in numbers.tolist()], pa.string())
    index = conditions._rows_by_word(column)
    assert {int(word[1:]) for word in index} == {*range(words)} == {*once.tolist()}
    own = np.repeat([int(word[1:]) for word in index], [len(rows) for rows in index.values()]).astype(int)
    rows = np.concatenate([np.empty(0, int), *index.values()])
    assert numbers[rows].tolist() == own.tolist()
    assert len(rows) == len(column) - column.null_count
    assert ((np.diff(rows) > 0) | (np.diff(own) != 0)).all(), "the rows of a word are ascending"


def test_words_are_looked_up_only_where_nothing_can_fail():
    schema = batch(1).schema
    looked_up = {where for where in WHERES if conditions._condition(where, schema).column is not None}
    assert looked_up == {*WHERES[:7], "action <> 'login' AND user = 'u2'", "action = 'login' AND user IS NULL",
                         "action = ''"}  # fmt: skip


def test_a_condition_fails_on_the_row_on_which_it_would():
    rows = batch(1)
    zero = pa.array([0 if row == 40 else 5 for row in range(len(rows))])
    rows = rows.set_column(2, "port", zero).set_column(0, "action", pa.array(["login"] * len(rows)))
    with pytest.raises(InputError, match="row 40"):
        dict(rows_by_condition(["action = 'login' AND 100 / port > 3"], rows))
