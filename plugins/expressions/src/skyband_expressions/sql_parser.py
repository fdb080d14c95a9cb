"""Parses text into an expression tree with sqlglot's Spark grammar; sqlglot is imported on first use."""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
from skyband.config.literals import MOST_DIGITS

from skyband_expressions.syntax import Call, Cast, Lambda, Literal, Name, Tree, UnknownExpressionError

MOST_DEPTH = 100
"""The most nested expressions; `a AND b AND c`, `OR`, `||` and the list of IN count as one each."""
MOST_TERMS = 5_000
"""The most names, literals and functions of an expression, apart from the literals of IN."""
MOST_CHARACTERS = 1_000_000

_OPERATORS = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "IntDiv": "div", "Mod": "%", "Neg": "negative", "EQ": "=",
    "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "NullSafeEQ": "<=>", "And": "and", "Or": "or",
    "Not": "not", "DPipe": "||", "Like": "like", "RegexpLike": "rlike", "In": "in", "Between": "between", "Is": "is",
}  # fmt: skip
"""By sqlglot's classes."""
_CHAINS = {"And": "and", "Or": "or", "DPipe": "||"}
_PREDICATES = ("Like", "RegexpLike", "In", "Between", "Is")
_TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "TEXT": pa.string(), "DATE": pa.date32(),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"), "TIMESTAMPLTZ": pa.timestamp("us", "UTC"),
    "TIMESTAMPNTZ": pa.timestamp("us"),
}  # fmt: skip

_OPERANDS = frozenset(("this", "expression", "expressions"))
_ARGUMENTS = {
    kind: _OPERANDS | set(names)
    for kind, *names in (
        ("Like", "negate"), ("Is", "negate"), ("Between", "low", "high"), ("Case", "ifs", "default"), ("If", "true"),
        ("Column", "table", "db", "catalog"), ("Cast", "to"), ("TryCast", "to", "safe"), ("Div", "typed", "safe"),
        ("DPipe", "safe"), ("Identifier", "quoted"), ("Literal", "is_string"),
    )
}  # fmt: skip
"""The attributes read from sqlglot's nodes: a node with others is refused, as it means something else."""


def parse(text: str) -> tuple[Tree | None, str | None]:
    """The tree of an expression and its `AS name`, None if it has none; the tree is None for `*`, all columns.

    Raises UnknownExpressionError, naming what is not supported.
    """
    node = _parsed(text)
    alias = node.args["alias"].name if type(node).__name__ == "Alias" else None
    if alias is not None:
        node = node.this
    if type(node).__name__ == "Star" and alias is None and not any(node.args.values()):
        return None, None
    try:
        return _Reader().tree(node, 0), alias
    except RecursionError as error:
        raise UnknownExpressionError(_TOO_DEEP) from error


_TOO_DEEP = f"has more than {MOST_DEPTH} nested expressions"


def _parsed(text: str) -> Any:
    """sqlglot's node of the single expression in a text."""
    from sqlglot.errors import SqlglotError

    if len(text) > MOST_CHARACTERS:
        raise UnknownExpressionError(f"is longer than {MOST_CHARACTERS:,} characters")
    dialect = _dialect()
    try:
        _check_tokens(dialect.tokenize(text))
        statements = dialect.parse(f"SELECT {text}")
    except RecursionError as error:
        raise UnknownExpressionError(_TOO_DEEP) from error
    except SqlglotError as error:
        raise UnknownExpressionError(f"cannot be read as SQL{_place(error, text)}{_backquotes(text)}") from error
    parts = {name for node in statements if node is not None for name, value in node.args.items() if value}
    single = len(statements) == 1 and parts == {"expressions"} and len(statements[0].expressions) == 1
    if not single:
        raise UnknownExpressionError("is not one expression")
    return statements[0].expressions[0]


def _check_tokens(tokens: Sequence[Any]) -> None:
    """Raise UnknownExpressionError for text that sqlglot would parse slowly, or an AS without a name."""
    if tokens and tokens[-1].token_type.name == "ALIAS":
        raise UnknownExpressionError("has no name after AS")
    depth = 0
    for token in tokens:
        depth += token.token_type.name in ("L_PAREN", "L_BRACKET", "CASE")
        depth -= token.token_type.name in ("R_PAREN", "R_BRACKET", "END")
        if depth > MOST_DEPTH:
            raise UnknownExpressionError(_TOO_DEEP)


def _place(error: Any, text: str) -> str:
    details = getattr(error, "errors", None)
    if not details or details[0].get("line") != 1 or not details[0].get("highlight"):
        return ""
    return f" near {details[0]['highlight']!r}" if details[0]["highlight"] in text else ""


_SHORT = 500
"""The most characters of a text that is parsed again to explain an error."""


def _backquotes(text: str) -> str:
    """The remedy for a column named like an SQL keyword, such as `values`."""
    from sqlglot.errors import SqlglotError

    words = re.findall(r"\b[A-Za-z_]+\b(?!\s*[('`])", text[:_SHORT]) if len(text) <= _SHORT else []
    for word in dict.fromkeys(words):
        quoted = re.sub(r"(?<!`)\b" + word + r"\b(?!`)", f"`{word}`", text)
        try:
            _dialect().parse(f"SELECT {quoted}")
        except (SqlglotError, RecursionError):
            continue
        return f"; for a column {word}, write `{word}` in backquotes"
    return ""


@cache
def _dialect() -> Any:
    """Spark's grammar, with function names kept."""
    from sqlglot.dialects.spark import Spark

    known = Spark.Parser
    own = {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": {name: known.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")},
        "NO_PAREN_FUNCTIONS": {},
        "NO_PAREN_FUNCTION_PARSERS": {"CASE": known.NO_PAREN_FUNCTION_PARSERS["CASE"]},
    }
    return type("Expressions", (Spark,), {"Parser": type("Parser", (known,), own)})()


class _Reader:
    """Converts sqlglot's nodes to trees, and counts their terms."""

    def __init__(self) -> None:
        self._terms = 0

    def tree(self, node: Any, depth: int) -> Tree:
        """The tree of a node at this depth."""
        self._terms += 1
        if depth > MOST_DEPTH:
            raise UnknownExpressionError(_TOO_DEEP)
        if self._terms > MOST_TERMS:
            raise UnknownExpressionError(f"has more than {MOST_TERMS:,} terms")
        kind = type(node).__name__
        if {name for name, value in node.args.items() if value} - _ARGUMENTS.get(kind, _OPERANDS):
            raise UnknownExpressionError(f"`{_sql_of(node)}` is not supported")
        reader: Callable[[Any, int], Tree] | None = getattr(self, f"_{kind.lower()}", None)
        if reader is not None:
            return reader(node, depth)
        if kind in _CHAINS:
            parts = _chain(node)
            if kind == "DPipe" and any(type(part).__name__ in ("Add", "Sub") for part in parts):
                raise UnknownExpressionError(f"`{_sql_of(node)}` needs brackets around + and -")
            return Call(_CHAINS[kind], self._trees(parts, depth))
        if kind in _OPERATORS:
            _check_brackets(node)
            return Call(_OPERATORS[kind], self._trees([node.this, node.args.get("expression")], depth))
        raise UnknownExpressionError(f"`{_sql_of(node)}` is not supported")

    def _trees(self, nodes: Iterable[Any], depth: int) -> tuple[Tree, ...]:
        return tuple(self.tree(node, depth + 1) for node in nodes if node is not None)

    def _paren(self, node: Any, depth: int) -> Tree:
        return self.tree(node.this, depth + 1)

    def _null(self, _node: Any, _depth: int) -> Tree:
        return Literal(None)

    def _boolean(self, node: Any, _depth: int) -> Tree:
        return Literal(bool(node.this))

    def _rawstring(self, node: Any, _depth: int) -> Tree:
        return Literal(str(node.this))

    def _literal(self, node: Any, _depth: int) -> Tree:
        return Literal(str(node.this)) if node.is_string else Literal(_number(str(node.this)))

    def _neg(self, node: Any, depth: int) -> Tree:
        inner = self.tree(node.this, depth + 1)
        value = inner.value if isinstance(inner, Literal) else None
        if type(node.this).__name__ == "Literal" and isinstance(value, int | Decimal | float):
            return Literal(-value)
        return Call("negative", (inner,))

    def _identifier(self, node: Any, _depth: int) -> Tree:
        return Name((str(node.this),))

    def _column(self, node: Any, _depth: int) -> Tree:
        if type(node.this).__name__ != "Identifier":
            raise UnknownExpressionError(f"`{_sql_of(node)}` is not supported")
        parts = [node.args.get(name) for name in ("catalog", "db", "table", "this")]
        return Name(tuple(str(part.this) for part in parts if part is not None))

    def _dot(self, node: Any, depth: int) -> Tree:
        if type(node.expression).__name__ != "Identifier":
            raise UnknownExpressionError(f"`{_sql_of(node)}` is not supported")
        return Call("field", (self.tree(node.this, depth + 1), Literal(str(node.expression.this))))

    def _bracket(self, node: Any, depth: int) -> Tree:
        if len(node.expressions) != 1:
            raise UnknownExpressionError(f"`{_sql_of(node)}` is not supported")
        return Call("[]", self._trees([node.this, node.expressions[0]], depth))

    def _cast(self, node: Any, depth: int) -> Tree:
        return self._trycast(node, depth)

    def _trycast(self, node: Any, depth: int) -> Tree:
        kind = _type(node.to)
        safe = bool(node.args.get("safe")) and type(node).__name__ == "TryCast"
        literal = type(node.this).__name__ == "Literal" and not node.this.is_string
        if literal and kind == pa.float64():
            return Literal(float(node.this.this))
        return Cast(self.tree(node.this, depth + 1), kind, safe)

    def _anonymous(self, node: Any, depth: int) -> Tree:
        from skyband_expressions.functions import FUNCTIONS

        name = str(node.this).lower()
        if name not in FUNCTIONS:
            raise UnknownExpressionError(f"the function {name} is not supported")
        return Call(name, self._trees(node.expressions, depth))

    def _lambda(self, node: Any, depth: int) -> Tree:
        return Lambda(tuple(str(argument.this) for argument in node.expressions), self.tree(node.this, depth + 1))

    def _case(self, node: Any, depth: int) -> Tree:
        arguments: list[Tree] = []
        operand = None if node.this is None else self.tree(node.this, depth + 1)
        for branch in node.args["ifs"]:
            condition = self.tree(branch.this, depth + 1)
            arguments.append(condition if operand is None else Call("=", (operand, condition)))
            arguments.append(self.tree(branch.args["true"], depth + 1))
        default = node.args.get("default")
        arguments.append(Literal(None) if default is None else self.tree(default, depth + 1))
        return Call("case", tuple(arguments))

    def _is(self, node: Any, depth: int) -> Tree:
        what = type(node.expression).__name__
        inner = self._predicate_of(node, depth)
        if what == "Null":
            return _negated(node, Call("isnull", (inner,)))
        if what == "Boolean":
            return _negated(node, Call("<=>", (inner, Literal(bool(node.expression.this)))))
        raise UnknownExpressionError(f"`{_sql_of(node)}` is not supported")

    def _in(self, node: Any, depth: int) -> Tree:
        if not node.expressions:
            raise UnknownExpressionError(f"`{_sql_of(node)}` has no values")
        arguments = [self._predicate_of(node, depth)]
        for value in node.expressions:
            terms = self._terms
            arguments.append(self.tree(value, depth + 1))
            if isinstance(arguments[-1], Literal):
                self._terms = terms
        return Call("in", tuple(arguments))

    def _between(self, node: Any, depth: int) -> Tree:
        value = self._predicate_of(node, depth)
        low, high = self._trees([node.args["low"], node.args["high"]], depth)
        return Call("and", (Call(">=", (value, low)), Call("<=", (value, high))))

    def _like(self, node: Any, depth: int) -> Tree:
        like = Call("like", (self._predicate_of(node, depth), self.tree(node.expression, depth + 1)))
        return _negated(node, like)

    def _regexplike(self, node: Any, depth: int) -> Tree:
        return Call("rlike", (self._predicate_of(node, depth), self.tree(node.expression, depth + 1)))

    def _predicate_of(self, node: Any, depth: int) -> Tree:
        """The operand of IS, IN, BETWEEN, LIKE and RLIKE: in Spark's grammar, not one of these itself."""
        if type(node.this).__name__ in _PREDICATES:
            raise UnknownExpressionError(f"`{_sql_of(node)}` needs brackets around `{_sql_of(node.this)}`")
        return self.tree(node.this, depth + 1)


def _negated(node: Any, tree: Tree) -> Tree:
    """NOT LIKE and IS NOT, which sqlglot represents in two ways."""
    return Call("not", (tree,)) if node.args.get("negate") else tree


_COMPARISONS = ("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NullSafeEQ")
_LOOSE = {**dict.fromkeys(_COMPARISONS, (*_PREDICATES, "Not")), **dict.fromkeys(("Add", "Sub"), ("DPipe",))}
"""Operators whose precedence in sqlglot differs from Spark's, without brackets."""


def _check_brackets(node: Any) -> None:
    for side in (node.this, node.args.get("expression")):
        if type(side).__name__ in _LOOSE.get(type(node).__name__, ()):
            raise UnknownExpressionError(f"`{_sql_of(node)}` needs brackets around `{_sql_of(side)}`")


def _chain(node: Any) -> Sequence[Any]:
    """The operands of a chain of the same operator, from left to right."""
    kind, parts = type(node), []
    while type(node) is kind:
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def _number(text: str) -> int | float | Decimal:
    if len(text) > MOST_DIGITS:
        raise UnknownExpressionError(f"a number has more than {MOST_DIGITS} digits")
    if "e" in text.lower():
        return float(text)
    return Decimal(text) if "." in text else int(text)


def _type(node: Any) -> pa.DataType:
    name = getattr(node.this, "name", None)
    if name == "DECIMAL":
        digits = [int(str(parameter.this.this)) for parameter in node.expressions] or [10]
        precision, scale = [*digits, 0][:2]
        if not 0 < precision <= 38 or not 0 <= scale <= precision:
            raise UnknownExpressionError(f"`{_sql_of(node)}` is not a type")
        return pa.decimal128(precision, scale)
    if name not in _TYPES:
        raise UnknownExpressionError(f"a cast to `{_sql_of(node)}` is not supported")
    return _TYPES[name]


def _sql_of(node: Any) -> str:
    """A node as SQL, shortened."""
    try:
        text = " ".join(str(node.sql(dialect="spark")).split())
    except RecursionError:
        text = "…"
    return text if len(text) <= 60 else f"{text[:59]}…"
