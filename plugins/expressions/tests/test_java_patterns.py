"""Java patterns with the same meaning in RE2 run, others are refused by name, and none is slow."""

import pyarrow as pa
import pytest
from skyband.errors import InputError
from skyband_expressions.expression import UnknownExpressionError, parse_column

TEXTS = ["an Error", "ERROR 17", "terror", "\u212a", "k", "\u017f", "S_1", "\u2013 x \u2192", ""]


def values(text, column):
    expression, _ = parse_column(f"{text} AS v")
    return expression.evaluate(pa.record_batch({"t": column})).to_pylist()


def matching(pattern, column=TEXTS):
    return [text for text, is_so in zip(column, values(f"t RLIKE r'{pattern}'", column), strict=True) if is_so]


def test_case_insensitive_patterns_fold_ascii_only():
    """RE2 would match the kelvin sign as k, and a long s as s."""
    assert matching("(?i)error") == TEXTS[:3]
    assert matching("(?i)^K$") == matching("(?i)^[k]$") == matching("(?i)^[J-L]$") == ["k"]
    assert matching("(?i)^[^a-r]") == ["terror", "\u212a", "\u017f", "S_1", "\u2013 x \u2192"]
    assert values("regexp_replace(t, '(?i)(E)R', '<$1>')", ["Error er"]) == ["<E>ror <e>"]


def test_word_boundaries_are_at_letters_and_digits():
    assert matching(r"\bError\b", TEXTS[:3]) == ["an Error"]
    assert matching(r"\bx\b", ["ax", TEXTS[7]]) == ["\u2013 x \u2192"], "signs are neither letters nor digits"
    for other in ("\u00e9t\u00e9", "e\u0301", "\u0663"):
        with pytest.raises(InputError, match=r"row 1: .*with \\b in the pattern, is supported by Spark only"):
            matching(r"\bx", ["x", other])


def test_letters_of_any_script_and_those_of_ascii():
    texts = ["\u00e9", "a", "7", "\u0663", "-", "\u4e2d", "Z"]
    assert matching(r"^\p{L}$", texts) == ["\u00e9", "a", "\u4e2d", "Z"]
    assert matching(r"^[\p{Lu}\d]$", texts) == ["7", "Z"]
    assert matching(r"^\P{L}$", texts) == ["7", "\u0663", "-"]
    assert matching(r"^\p{Alpha}$", texts) == ["a", "Z"]


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("a(?i)b", "(?i)b"),
        ("(?i)\\p{Lu}", "p{Lu}"),
        ("\\B", "B"),
        ("(?u)a", "(?u)a"),
        ("(?=a)", "(?=a)"),
        ("\\p{IsGreek}", "p{IsGreek}"),
        ("(\\b)+", "repeats a group that may be empty"),
        ("(" * 101 + "a" + ")" * 101, "more than 100 nested groups"),
        ("(" * 50_000 + ")" * 50_000, "more than 10,000 characters"),
    ],
)
def test_syntax_that_only_java_has_is_refused_by_name(pattern, named):
    with pytest.raises(UnknownExpressionError) as refused:
        parse_column(f"t RLIKE r'{pattern}' AS v")[0].type_in(pa.schema([("t", pa.string())]))
    assert named in str(refused.value)


def test_a_word_s_end_is_not_replaced():
    with pytest.raises(UnknownExpressionError, match="matches the empty text"):
        parse_column(r"regexp_replace(t, r'\b', '|') AS v")[0].type_in(pa.schema([("t", pa.string())]))
