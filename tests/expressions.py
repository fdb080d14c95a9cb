"""Random expressions in the part of Spark's SQL that is known without Spark, and rows to evaluate them on."""

import random
from decimal import Decimal

import pyarrow as pa

_TEXTS = [
    "",
    " a ",
    "Straße",
    "İstanbul ΣΑΣ",
    None,
    "2026-01-05 03:04:05",
    "a,b,,",
    "7",
    " -12 ",
    "1.50",
    "1e3",
    "NaN",
    "true",
    "N",
    "2026-2-3",
    "2024-02-29T23:59:59.9999999Z",
    "2023-02-29",
    "2026-01-05 03:04+05:30",
    "x=1&y=22",
    "GET /a/b?c=d HTTP/1.1",
    "line\nbreak",
    "tab\tand  spaces",
    "100%",
    "a_b",
    "+5",
    "99999999999999999999",
    "-9223372036854775808",
    "128",
    "\u2028𝄞é",
    "12:30",
    "2026",
    "aXbXc",
    "0001-01-01",
    "9999-12-31 23:59:59.999999",
    "infinity",
    ".5",
    "5.",
    "yes",
    "2147483648",
    "00012",
]
_COUNT = len(_TEXTS)


def _cycled(values: list, kind: pa.DataType, step: int = 1) -> pa.Array:
    return pa.array([values[(row * step + row // len(values)) % len(values)] for row in range(_COUNT)], kind)


_INTS = [0, 1, -1, 7, -7, None, 2**31 - 1, -(2**31), 100, 3]
_LONGS = [0, 5, None, -3, 2**53 + 1, 2**63 - 1, -(2**63), 1_700_000_000, -62_135_596_800, 253_402_300_799, 2**31]
_DOUBLES = [
    0.0,
    -0.0,
    1.5,
    -2.5,
    float("nan"),
    None,
    float("inf"),
    float("-inf"),
    1e300,
    2.0**63,
    2**53 + 0.0,
    5e-324,
    0.1,
]
_MICROS = [0, -1, 1, None, 1_700_000_000_123_456, 253_402_300_799_999_999, -62_135_596_800_000_000, 951_868_799_999_999]

ROWS = pa.table(
    {
        "row": pa.array(range(_COUNT), pa.int32()),
        "i": _cycled(_INTS, pa.int32()),
        "j": _cycled(_INTS, pa.int32(), 3),
        "l": _cycled(_LONGS, pa.int64()),
        "m": _cycled(_LONGS, pa.int64(), 3),
        "b": _cycled([0, 1, -128, 127, None, 5], pa.int8()),
        "f": _cycled([0.5, None, -1.25, 3.4e38, float("nan"), 0.1], pa.float32()),
        "d": _cycled(_DOUBLES, pa.float64()),
        "e": _cycled(_DOUBLES, pa.float64(), 5),
        "n": _cycled([Decimal("1.50"), None, Decimal("-0.05"), Decimal("9999999.99"), Decimal(0)], pa.decimal128(9, 2)),
        "s": pa.array(_TEXTS, pa.string()),
        "u": _cycled(_TEXTS, pa.string(), 7),
        "x": _cycled([True, False, None], pa.bool_()),
        "y": _cycled([True, False, None, False], pa.bool_(), 3),
        "ts": _cycled(_MICROS, pa.timestamp("us", "UTC")),
        "tt": _cycled(_MICROS, pa.timestamp("us", "UTC"), 3),
        "dt": _cycled([0, -1, None, 20_000, 2_932_896, -719_162], pa.date32()),
        "xs": _cycled([["a", "b", "a"], [], None, ["c", None, "c"], ["", "7"]], pa.list_(pa.string())),
        "ys": _cycled([[1, 2, 1], None, [], [None, 2**31 - 1], [-5]], pa.list_(pa.int32())),
        "p": _cycled(
            [{"q": 1, "r": "z"}, None, {"q": None, "r": "a"}], pa.struct([("q", pa.int32()), ("r", pa.string())])
        ),
        "mp": _cycled([[("k", 1)], [], None, [("j", 2), ("k", None)]], pa.map_(pa.string(), pa.int32())),
    }
)
"""Values at the edges of each type: null, NaN, -0.0, the largest and smallest, times from year 1 to 9999."""

_FORMS = {
    "int": [
        "i",
        "j",
        "b",
        "0",
        "1",
        "-3",
        "2147483647",
        "{int} + {int}",
        "{int} - {int}",
        "{int} * {int}",
        "{int} % {int}",
        "-{int}",
        "abs({int})",
        "length({text})",
        "year(TRY_CAST({text} AS DATE))",
        "hour({time})",
        "year({time})",
        "month({time})",
        "day({time})",
        "minute({time})",
        "second({time})",
        "dayofweek({time})",
        "weekday({time})",
        "weekofyear({time})",
        "dayofyear({time})",
        "quarter({time})",
        "CAST({number} AS INT)",
        "TRY_CAST({any} AS INT)",
        "try_cast({text} as smallint)",
        "try_cast({number} as tinyint)",
        "size({list})",
        "p.q",
        "mp['k']",
        "element_at(mp, 'j')",
        "element_at({ints}, 1)",
        "{ints}[0]",
        "TRY_CAST({bool} AS INT)",
    ],
    "long": [
        "l",
        "m",
        "3000000000",
        "5L",
        "{long} + {int}",
        "{long} - {long}",
        "{long} * {int}",
        "{long} DIV {int}",
        "{int} div {int}",
        "{long} % {long}",
        "mod({long}, {int})",
        "floor({double})",
        "ceil({double})",
        "CAST({time} AS BIGINT)",
        "-({long})",
        "TRY_CAST({text} AS BIGINT)",
        "try_cast({double} as bigint)",
        "unix_seconds({time})",
        "unix_millis({time})",
        "unix_micros({time})",
    ],
    "double": [
        "d",
        "e",
        "1.5D",
        "1e3",
        "{double} + {number}",
        "{double} - {double}",
        "{double} * {number}",
        "{number} / {double}",
        "{int} / {int}",
        "{long} / {int}",
        "{double} % {double}",
        "-{double}",
        "abs({double})",
        "sqrt({number})",
        "CAST({int} AS DOUBLE)",
        "CAST({long} AS DOUBLE)",
        "CAST({decimal} AS DOUBLE)",
        "TRY_CAST({text} AS DOUBLE)",
        "greatest({double}, {number})",
        "least({double}, {int})",
        "CAST({time} AS DOUBLE)",
        "CAST(f AS DOUBLE)",
        "f + {int}",
    ],
    "decimal": [
        "n",
        "1.5",
        "-0.25",
        "100.0",
        "n + {int}",
        "n - 0.5",
        "n * 2",
        "n * 1.5",
        "CAST({int} AS DECIMAL(12,2))",
        "-n",
        "TRY_CAST({int} AS DECIMAL(3,1))",
        "try_cast(n as decimal(5,1))",
        "greatest(n, 2)",
        "i * 1.5",
        "abs(n)",
    ],
    "text": [
        "s",
        "u",
        "''",
        "'a'",
        "'it\\'s'",
        "lower({text})",
        "upper({text})",
        "trim({text})",
        "ltrim({text})",
        "rtrim({text})",
        "concat({text}, {text})",
        "{text} || {text}",
        "concat({text}, '-', {int})",
        "concat_ws(',', {text}, {text})",
        "substring({text}, {place}, {size})",
        "substr({text}, {place})",
        "left({text}, 2)",
        "right({text}, 3)",
        "reverse({text})",
        "replace({text}, 'a', 'bb')",
        "regexp_extract({text}, {pattern}, 0)",
        "regexp_replace({text}, {solid}, '<$0>')",
        "regexp_extract({text}, '([a-z]+)=(\\\\d+)', 2)",
        "regexp_replace({text}, r'\\s+', ' ')",
        "CAST({int} AS STRING)",
        "CAST({time} AS STRING)",
        "CAST({bool} AS STRING)",
        "CAST(n AS STRING)",
        "CAST(dt AS STRING)",
        "p.r",
        "{list}[0]",
        "element_at({list}, -1)",
        "element_at(split({text}, ','), 1)",
        "split({text}, {solid})[0]",
        "nullif({text}, {text})",
    ],
    "bool": [
        "x",
        "y",
        "TRUE",
        "{number} = {number}",
        "{number} <> {number}",
        "{number} < {number}",
        "{number} >= {number}",
        "{number} <=> {number}",
        "{text} = {text}",
        "{text} < {text}",
        "{text} <=> {text}",
        "{bool} AND {bool}",
        "{bool} OR {bool}",
        "NOT {bool}",
        "{time} < {time}",
        "{time} >= TIMESTAMP '2000-02-29 23:59:59.999999'",
        "{time} = {time}",
        "dt <= {time}",
        "{time} > '2023-11-14'",
        "dt = '1970-01-01'",
        "{number} IN (1, 7, {number})",
        "{text} IN ('a', 'N', {text})",
        "{int} in (1, 2, 3, NULL)",
        "{number} BETWEEN {int} AND {number}",
        "{text} LIKE '%a%'",
        "{text} LIKE '_\\\\%%'",
        "{text} RLIKE {pattern}",
        "{any} IS NULL",
        "{any} IS NOT NULL",
        "{bool} IS TRUE",
        "{bool} is not false",
        "isnan({double})",
        "startswith({text}, 'a')",
        "endswith({text}, ' ')",
        "contains({text}, '=')",
        "array_contains({list}, {text})",
        "array_contains(ys, {int})",
        "TRY_CAST({text} AS BOOLEAN)",
        "CAST({number} AS BOOLEAN)",
        "{int} = '7'",
        "{bool} = {bool}",
        "{double} <> {double}",
        "n < {number}",
        "{decimal} = {decimal}",
        "f = {double}",
        "x < y",
        "to_date({time}) < dt",
        "TRY_CAST({text} AS DATE) = dt",
        "regexp_like({text}, {pattern})",
    ],
    "time": [
        "ts",
        "tt",
        "date_trunc('hour', {time})",
        "date_trunc('DAY', {time})",
        "date_trunc('week', {time})",
        "date_trunc('month', {time})",
        "date_trunc('quarter', {time})",
        "date_trunc('year', {time})",
        "date_trunc('minute', ts)",
        "date_trunc('second', tt)",
        "from_utc_timestamp({time}, 'America/St_Johns')",
        "from_utc_timestamp({time}, CASE row % 3 WHEN 0 THEN 'Asia/Kolkata' WHEN 1 THEN 'Africa/Cairo' ELSE 'No' END)",
        "timestamp_seconds({int})",
        "timestamp_millis({long})",
        "timestamp_micros({long})",
        "TIMESTAMP '2026-01-31 09:30:00'",
        "TRY_CAST({text} AS TIMESTAMP)",
        "CAST(dt AS TIMESTAMP)",
        "timestamp_seconds(l)",
        "to_timestamp('2026-03-01')",
        "to_timestamp({text}, 'yyyy-MM-dd HH:mm:ss')",
        "to_timestamp({date}, 'dd/MMM/yyyy:HH:mm:ss Z')",
        "to_timestamp({date}, 'M/d/yyyy H:mm')",
        "to_timestamp({date}, \"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\")",
        "to_timestamp({date}, 'yyyy.MM.dd')",
    ],
    "date": [
        "'05/Jan/2026:23:59:59 +0130'",
        "'1/31/2026 9:05'",
        "'2026-02-28T01:02:03.250-08:00'",
        "'2024.02.29'",
        "'2023.02.29'",
        "'2026-12-31T23:59:59.999Z'",
        "'29/Feb/2023:00:00:00 +0000'",
        "'13/1/2026 9:05'",
        "'01/01/0001 24:00'",
    ],
    "list": [
        "xs",
        "split({text}, {solid})",
        "array_distinct({list})",
        "array({text}, {text})",
        "filter({list}, v -> {about})",
        "transform({list}, v -> concat(v, {text}))",
        "transform({list}, v -> upper(v))",
    ],
    "ints": [
        "ys",
        "array_distinct({ints})",
        "filter({ints}, v -> v > {int})",
        "transform({ints}, v -> v % 3)",
        "array({int}, 2)",
    ],
    "about": ["v <> 'a'", "v IS NOT NULL", "length(v) > 0 AND {bool}", "v = {text}"],
    "place": ["-3", "-1", "0", "1", "2", "9"],
    "size": ["-1", "0", "1", "2", "100"],
    "solid": ["','", "'a'", "r'\\s'", "'[,=&]+'", "'X|b'", "r'\\d+'", "'.'", "'a{{1,2}}'"],
    "pattern": [
        "'a'",
        "'^a'",
        "'[0-9]+$'",
        "'(a|b)c?'",
        "r'\\w+\\.\\d'",
        "'^.*b'",
        "r'(\\d+)-(\\d+)'",
        "'[^a-z]'",
        "r'/\\S+'",
        "'x*'",
    ],
    "number": ["{int}", "{long}", "{double}", "{decimal}", "{int}"],
    "any": ["{int}", "{long}", "{double}", "{text}", "{bool}", "{time}"],
}
_ANY = ("int", "long", "double", "decimal", "text", "bool", "time", "list", "ints")
_CHOICES = (
    "CASE WHEN {{bool}} THEN {{{0}}} ELSE {{{0}}} END",
    "coalesce({{{0}}}, {{{0}}})",
    "if({{bool}}, {{{0}}}, {{{0}}})",
    "CASE {{int}} WHEN 1 THEN {{{0}}} WHEN 7 THEN {{{0}}} END",
    "nullif({{{0}}}, {{{0}}})",
)
for _kind in ("int", "long", "double", "decimal", "text", "bool", "time"):
    _FORMS[_kind] += [form.format(_kind) for form in _CHOICES]


def random_expression(rng: random.Random, kind: str | None = None, depth: int = 3) -> str:
    """One of some kind, with others within it, `depth` deep at most."""
    kind = kind or rng.choice(_ANY)
    forms = _FORMS[kind]
    if depth <= 0:
        forms = [form for form in forms if "{" not in form.replace("{{", "")] or forms
    form = rng.choice(forms)
    parts, place = [], 0
    while place < len(form):
        if form.startswith(("{{", "}}"), place):
            parts.append(form[place])
            place += 2
        elif form[place] == "{":
            end = form.index("}", place)
            inner = form[place + 1 : end]
            text = random_expression(rng, inner, depth - 1)
            parts.append(
                text if inner in ("place", "size", "solid", "pattern", "date") or text.isidentifier() else f"({text})"
            )
            place = end + 1
        else:
            parts.append(form[place])
            place += 1
    return "".join(parts)


def random_expressions(seed: int, count: int) -> list[str]:
    """So many, each once."""
    rng = random.Random(seed)
    expressions: dict[str, None] = {}
    while len(expressions) < count:
        expressions[random_expression(rng, depth=rng.randint(1, 3))] = None
    return list(expressions)
