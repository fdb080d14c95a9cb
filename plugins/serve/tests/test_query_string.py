"""Parameters of a request: each type's texts, given once or several times."""

import pytest
from skyband.errors import InputError
from skyband_serve.web.query_string import Option, request_of

TEXTS = {
    "int": {"7": 7, "-7": -7, "+7": 7, "1.5": "1.5", "x": "x", "": ""},
    "float": {"7": 7.0, "1.5": 1.5, ".5": 0.5, "-1e3": -1000.0, "inf": float("inf"), "x": "x"},
    "bool": {"": True, "true": True, "false": False, "yes": InputError, "True": InputError},
    "range": {"1,5": (1.0, 5.0), "-inf,5": (float("-inf"), 5.0), "1": InputError, "1,x": InputError, ",": InputError},
    "list": {"7": 7, "0.5": 0.5, "x": "x"},
    "str": {"7": "7", "true": "true", "": ""},
}
"""What each text is as a value of each type; a text that is none is handed on for the check of what it is for."""


def asked(kind, several, *texts):
    query = "&".join(f"q={text.replace(',', '%2C').replace('+', '%2B')}" for text in texts)
    return request_of(query.encode(), [Option("q", kind, "", several)], False).values["q"]


@pytest.mark.parametrize("kind", TEXTS)
def test_each_text_is_the_value_of_its_type(kind):
    for text, value in TEXTS[kind].items():
        if value is InputError:
            with pytest.raises(InputError, match="q: must be"):
                asked(kind, False, text)
        else:
            told = asked(kind, False, text)
            assert (told, type(told)) == (value, type(value)), text


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_what_may_be_given_once_is_refused_twice_and_what_may_be_given_often_keeps_its_order(count):
    texts = [str(number) for number in range(count)]
    assert asked("int", True, *texts) == tuple(range(count))
    if count > 1:
        with pytest.raises(InputError, match=f"q: is given {count} times: give it once"):
            asked("int", False, *texts)
