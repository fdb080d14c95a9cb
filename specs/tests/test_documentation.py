"""Problems of an incomplete docstring, compared with a complete one of a backend."""

import pytest
from attrs import define
from skyband.config.parameters import number
from skyband_specs.documentation import documentation_problems, query_documentation_problems
from skyband_specs.scaffold.query_plugin.query import MineQuery

GOOD = """Something.

    Parameters
    ----------
    epsilon : float, default 0.02
        relative error (above 0 and below 1)

    Complexity
    ----------
    O(1).

    References
    ----------
    None.

    Examples
    --------
    >>> 1 + 1
    2
    """


def problems(docstring):
    @define
    class Documented:
        epsilon: float = number(0.02, above=0, below=1, help="relative error")

    Documented.__doc__ = docstring
    return documentation_problems(Documented)


def test_a_docstring_with_all_its_sections_has_no_problem():
    assert problems(GOOD) == []


def test_line_breaks_are_the_authors(toy):
    assert problems(GOOD.replace("relative error (", "relative\n        error (")) == []
    assert documentation_problems(toy) == []


@pytest.mark.parametrize(
    ("docstring", "said"),
    [
        ("", "must start with a sentence that says what it is"),
        ("Something.", "lacks Parameters, Complexity, References, Examples"),
        (GOOD.replace("O(1).", ""), "lacks Complexity"),
        (GOOD.replace("relative error", "how wrong it may be"), "relative error (above 0 and below 1)"),
        (GOOD.replace("0.02", "0.05"), "epsilon : float, default 0.02"),
        (GOOD.replace("epsilon :", "eps :"), "the section Parameters must be"),
        (GOOD.replace("Complexity", "Cost here"), "lacks Complexity"),
        (
            GOOD.replace("References", "X").replace("Complexity", "References").replace("X", "Complexity"),
            "in the order",
        ),
        (GOOD.replace("    2\n", "    3\n"), "Got:"),
        (GOOD.replace("1 + 1", "1 / 0"), "ZeroDivisionError"),
        (GOOD.replace("    2\n", ""), "has no example that prints something"),
    ],
)
def test_what_is_missing_or_wrong_is_named(docstring, said):
    assert any(said in problem for problem in problems(docstring))


@pytest.mark.parametrize(
    ("docstring", "said"),
    [
        ("Sums", "must start with a sentence that says what it asks"),
        ("Sums.", "lacks Examples"),
        ("Sums.\n\n    Examples\n    --------\n    >>> 1 + 1\n    3\n    ", "Got:"),
    ],
)
def test_a_query_needs_a_sentence_and_an_example_that_runs(docstring, said):
    query = type("Query", (), {"__doc__": docstring, "__module__": __name__})
    assert any(said in problem for problem in query_documentation_problems(query))
    assert query_documentation_problems(MineQuery) == []
