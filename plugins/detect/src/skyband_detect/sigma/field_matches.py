"""What Sigma says of one field, as a condition of SQL.

Sigma compares text in any case, so columns are compared by `lower`, unless a value is `cased`.
"""

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network, ip_network
from typing import Any

from skyband_expressions.row_conditions import condition_problem, pattern_problem

from skyband_detect.sigma.refusals import RefusedError

_PLAIN = re.compile(r"[A-Za-z_]\w*")
_COMPARISONS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_AROUND = {"contains": ("*", "*"), "startswith": ("", "*"), "endswith": ("*", "")}
_OF_TEXT = {*_AROUND, "cased"}
_MODIFIERS = {*_OF_TEXT, *_COMPARISONS, "all", "re", "i", "cidr", "exists"}


def name_of(column: str) -> str:
    """A column as SQL names it."""
    if "`" in column:
        raise RefusedError(column, "a column with a backquote in its name has to be renamed")
    return column if _PLAIN.fullmatch(column) and condition_problem(f"{column} = 1") is None else f"`{column}`"


def text_of(value: str) -> str:
    """A text as SQL quotes it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def match(key: str, value: Any, column_of: Callable[[str], str]) -> str:
    """The condition of `field|modifiers: value`. Raises RefusedError, naming what cannot be said."""
    field, *modifiers = key.split("|")
    if not field:
        raise RefusedError(key, "keywords without a field search all columns: name a column")
    for modifier in modifiers:
        if modifier not in _MODIFIERS:
            raise RefusedError(
                key, f"the modifier {modifier!r} is not supported; there are {', '.join(sorted(_MODIFIERS))}"
            )
    column = name_of(column_of(field))
    values = value if isinstance(value, list) else [value]
    if not values:
        raise RefusedError(key, "has no values")
    if "all" in modifiers and not isinstance(value, list):
        raise RefusedError(key, "the modifier 'all' needs a list of values")
    kind = [modifier for modifier in modifiers if modifier != "all"]
    each = [_of_one(key, column, kind, one) for one in values]
    if "all" in modifiers:
        return joined("AND", each)
    return _in_list(each) or joined("OR", each)


def joined(word: str, conditions: list[str]) -> str:
    """Conditions with AND or OR between them."""
    different = list(dict.fromkeys(conditions))
    return different[0] if len(different) == 1 else f" {word} ".join(f"({condition})" for condition in different)


def _in_list(conditions: list[str]) -> str | None:
    """`c = 'a' OR c = 'b'` as a list, if all conditions are such."""
    parts = [condition.partition(" = '") for condition in conditions]
    columns = {column for column, _, _ in parts}
    if len(conditions) < 2 or len(columns) > 1 or any(not text or " = '" in text for _, _, text in parts):
        return None
    return f"{columns.pop()} IN ({', '.join(dict.fromkeys(chr(39) + text for _, _, text in parts))})"


def _of_one(key: str, column: str, modifiers: list[str], value: Any) -> str:
    named = {*modifiers}
    if "exists" in named:
        if named != {"exists"} or not isinstance(value, bool):
            raise RefusedError(key, "the modifier 'exists' stands alone and takes true or false")
        return f"{column} IS {'NOT ' if value else ''}NULL"
    comparison = named & {*_COMPARISONS}
    if comparison:
        if len(named) > 1 or isinstance(value, bool) or not isinstance(value, int | float):
            raise RefusedError(key, f"must compare with a number (got {value!r})")
        return f"{column} {_COMPARISONS[comparison.pop()]} {_number(key, value)}"
    if "cidr" in named:
        return _network(key, column, named, value)
    if "re" in named or "i" in named:
        return _pattern(key, column, named, value)
    return _text(key, column, named, value)


def _text(key: str, column: str, named: set[str], value: Any) -> str:
    around = [_AROUND[name] for name in _AROUND if name in named]
    if len(around) > 1:
        raise RefusedError(key, "has two of contains, startswith and endswith")
    if value is None and not named:
        return f"{column} IS NULL"
    if isinstance(value, bool) and not named:
        return f"{column} = {str(value).lower()}"
    if isinstance(value, int | float) and not isinstance(value, bool) and not around:
        return f"{column} = {_number(key, value)}"
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise RefusedError(key, f"must be text, a number, true, false or null (got {value!r})")
    before, after = around[0] if around else ("", "")
    pieces = _pieces(f"{before}{value}{after}")
    compared = column if "cased" in named else f"lower({column})"
    if not {_ANY, _ONE} & {*pieces}:
        text = "".join(pieces)
        return f"{compared} = {text_of(text if 'cased' in named else text.lower())}"
    several = (place for place, piece in enumerate(pieces) if piece != _ANY or pieces[place - 1 : place] != [_ANY])
    pattern = "".join(_like(pieces[place]) for place in several)
    return f"{compared} LIKE {text_of(pattern if 'cased' in named else pattern.lower())}"


_ANY, _ONE = "\0any", "\0one"


def _pieces(text: str) -> list[str]:
    """The characters of a text and its wildcards: a backslash escapes a wildcard and a backslash."""
    pieces, marks = list[str](), iter(range(len(text)))
    for place in marks:
        mark = text[place]
        if mark == "\\" and text[place + 1 : place + 2] in ("*", "?", "\\") and place + 1 < len(text):
            pieces.append(text[next(marks)])
        else:
            pieces.append({"*": _ANY, "?": _ONE}.get(mark, mark))
    return pieces


def _like(piece: str) -> str:
    if piece in (_ANY, _ONE):
        return "%" if piece == _ANY else "_"
    return f"\\{piece}" if piece in ("%", "_", "\\") else piece


def _number(key: str, value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        raise RefusedError(key, f"must be a finite number (got {value!r})")
    return text


def _pattern(key: str, column: str, named: set[str], value: Any) -> str:
    if not named <= {"re", "i"} or "re" not in named or not isinstance(value, str):
        raise RefusedError(key, "a regular expression is text with the modifier 're', and at most 'i' beside it")
    pattern = ("(?i)" if "i" in named else "") + value
    problem = pattern_problem(pattern)
    if problem is not None:
        raise RefusedError(key, f"the regular expression {value!r} is not supported: {problem}")
    return f"{column} RLIKE {text_of(pattern)}"


def _network(key: str, column: str, named: set[str], value: Any) -> str:
    try:
        network = ip_network(str(value))
    except ValueError as error:
        raise RefusedError(key, f"must be a network such as 10.0.0.0/8 (got {value!r}): {error}") from error
    if named != {"cidr"} or not isinstance(network, IPv4Network) or network.prefixlen not in (8, 16, 24, 32):
        raise RefusedError(key, f"a network has to be of IPv4 and of 8, 16, 24 or 32 bits (got {value!r})")
    parts = str(network.network_address).split(".")[: network.prefixlen // 8]
    if len(parts) == 4:
        return f"{column} = {text_of('.'.join(parts))}"
    return f"{column} LIKE {text_of('.'.join(parts) + '.%')}"


def selection(key: str, content: Any, column_of: Callable[[str], str]) -> str:
    """The condition of a search identifier: a mapping of fields, all to be met, or a list of such, one to be met."""
    if isinstance(content, Mapping) and content:
        return joined("AND", [match(str(field), value, column_of) for field, value in content.items()])
    if isinstance(content, list) and content and all(isinstance(one, Mapping) and one for one in content):
        return joined("OR", [selection(key, one, column_of) for one in content])
    raise RefusedError(f"detection.{key}", "must be fields with values, or a list of such: keywords have no field")
