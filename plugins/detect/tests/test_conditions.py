"""Conditions on text are evaluated on its different values only, with the rows that they meet on all."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.errors import InputError
from skyband_detect.detections import condition_parts, conditions
from skyband_detect.detections.conditions import rows_by_condition
from skyband_detect.detections.texts import BatchTexts
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
    "lower(action) LIKE '%o%' AND lower(user) IN ('u1', 'u2')",
    "NOT coalesce(lower(action) = 'login', false)",
    "(lower(action) = 'login' OR port > 50) AND NOT coalesce(user LIKE 'u%' AND ok, false)",
    "NOT coalesce(ok, true) AND lower(user) LIKE '%1'",
    "upper(lower(action)) = 'LOGIN'",
    "lower(action) = lower(user)",
    "upper(user) = 'U1' OR lcase(action) = 'copy' OR ok",
    "length(user) > 2 AND action <> 'x'",
    "coalesce(action, user) = 'u1' AND port > 3",
    "ok",
    "true",
)


def batch(seed, rows=500):
    rng = np.random.default_rng(seed)

    def some(values):
        return pa.array([values[place] for place in rng.integers(0, len(values), rows)])

    return pa.RecordBatch.from_pydict(
        {
            "action": some(["login", "LogIn", "copy", "exit", "", None, "u1", "İ"]),
            "user": some(["u1", "U1", "u2", None, "login"]),
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
    texts = BatchTexts(pa.RecordBatch.from_arrays([column], names=["word"]))["word"]
    assert texts.words.to_pylist()[:-1] == list(dict.fromkeys(word for word in column.to_pylist() if word is not None))
    assert texts.words[-1].as_py() is None
    for number in {0, 1, words // 2, words - 1, words} & {*range(words + 1)}:
        word = None if number == words else f"w{number}"
        assert texts.rows_of(texts.codes_of((word, "none"))).tolist() == np.flatnonzero(numbers == number).tolist()
        assert texts.count(texts.codes_of((word,))) == (numbers == number).sum()
    has = rng.random(words + 1) < 0.5
    expected = [row for row, word in enumerate(column.to_pylist()) if has[texts.codes_of((word,))[0]]]
    assert texts.rows_where(has, None).tolist() == expected
    assert texts.rows_where(has, np.arange(0, len(column), 3)).tolist() == [row for row in expected if row % 3 == 0]


def test_no_condition_that_can_fail_is_taken_apart():
    schema = batch(1).schema
    whole = {where for where in WHERES if conditions._condition(where, schema).part is None}
    assert whole == {"action = 'login' AND 100 / port > 3", "port % 7 = 3 AND action = 'copy'"}


def test_a_condition_on_text_is_evaluated_once_for_each_text(monkeypatch):
    evaluated, own = [], condition_parts._true

    def counted(condition, rows):
        evaluated.append(rows.length)
        return own(condition, rows)

    monkeypatch.setattr(condition_parts, "_true", counted)
    rows = batch(1, 2000)
    dict(rows_by_condition(["lower(action) LIKE '%o%' AND NOT coalesce(upper(user) LIKE 'U%', false)"], rows))
    assert evaluated == [7, 4], "login and LogIn are one in lower case, as u1 and U1 in upper; null is one too"
    evaluated.clear()
    dict(rows_by_condition(["action = 'exit' AND user LIKE 'u%' AND ok"], rows.slice(0, 9)))
    assert max(evaluated) <= 5


def test_a_condition_fails_on_the_row_on_which_it_would():
    rows = batch(1)
    zero = pa.array([0 if row == 40 else 5 for row in range(len(rows))])
    rows = rows.set_column(2, "port", zero).set_column(0, "action", pa.array(["login"] * len(rows)))
    with pytest.raises(InputError, match="row 40"):
        dict(rows_by_condition(["action = 'login' AND 100 / port > 3"], rows))
