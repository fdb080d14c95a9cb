"""Lists, structs and maps: their elements and fields, and functions of each element."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import Bind, Bound, EvaluationError, Rows, call, expect, integer_of, text_of
from skyband_expressions.casts import cast_to
from skyband_expressions.comparison import equal
from skyband_expressions.spark_types import common_type, is_float, name_of
from skyband_expressions.syntax import Lambda, Tree, UnknownExpressionError

_FIRST_ROWS, _ELEMENTS = 256, 1 << 16
"""Rows, and elements of lists, for which a lambda is evaluated at once."""


def array_of(argument: Bound, name: str) -> Bound:
    """A list argument. Raises UnknownExpressionError if it is not one."""
    if not pa.types.is_list(argument.type):
        raise UnknownExpressionError(f"{name} takes arrays, not {name_of(argument.type)}")
    return argument


def field_of(argument: Bound, name: str) -> Bound:
    """A field of structs."""
    if not pa.types.is_struct(argument.type):
        raise UnknownExpressionError(f"{name!r} is a field of a struct, but it follows {name_of(argument.type)}")
    if argument.type.get_field_index(name) < 0:
        names = ", ".join(field.name for field in argument.type)
        raise UnknownExpressionError(f"has no field {name!r}; its fields are {names}")
    kind = argument.type.field(name).type
    return call(kind, lambda column: pc.struct_field(column, name), argument)


def item(arguments: Sequence[Bound]) -> Bound:
    """`list[0]`, `map['key']` and `struct['field']`."""
    container, place = arguments
    if pa.types.is_struct(container.type):
        return field_of(container, text_of(place, "[]", "the name of a field"))
    if pa.types.is_map(container.type):
        return _map_item(container, place)
    array_of(container, "[]")
    index = integer_of(place, "[]", "a place")
    return call(container.type.value_type, lambda column: _elements(column, index, index), container, can_fail=True)


def element_at(arguments: Sequence[Bound]) -> Bound:
    """`element_at(list, place)`, from 1, or from the end if below 0; `element_at(map, key)`."""
    expect(range(2, 3), arguments, "element_at")
    container, place = arguments
    if pa.types.is_map(container.type):
        return _map_item(container, place)
    array_of(container, "element_at")
    index = integer_of(place, "element_at", "a place")
    if index == 0:
        raise UnknownExpressionError("element_at counts from 1, or from -1 for the end")
    offset = index - 1 if index > 0 else index
    return call(container.type.value_type, lambda column: _elements(column, offset, index), container, can_fail=True)


def _elements(column: pa.Array, offset: int, number: int) -> pa.Array:
    """The elements at a place of lists, from their end if it is below 0."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    inside = (offset < lengths) & (lengths + offset >= 0 if offset < 0 else number >= 0)
    if (valid & ~inside).any():
        length = int(lengths[valid & ~inside][0])
        raise EvaluationError(f"a list of {length} elements has no element {number}")
    begins = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    places = np.where(valid, begins + (offset if offset >= 0 else lengths + offset), 0)
    return pc.list_flatten(column).take(pa.array(places, mask=~valid))


def _map_item(container: Bound, place: Bound) -> Bound:
    if container.type.key_type != pa.string():
        raise UnknownExpressionError("maps are supported only with keys of text")
    key = text_of(place, "a map", "its key")

    def kernel(column: pa.Array) -> pa.Array:
        values = pc.map_lookup(column, pa.scalar(key), "first")
        return values if values.type == container.type.item_type else values.cast(container.type.item_type)

    return call(container.type.item_type, kernel, container)


def size(arguments: Sequence[Bound]) -> Bound:
    """`size`: null for null."""
    expect(range(1, 2), arguments, "size")
    return call(pa.int32(), pc.list_value_length, array_of(arguments[0], "size"))


def contains(arguments: Sequence[Bound]) -> Bound:
    """`array_contains(list, value)`: null if it is not found and an element is null."""
    expect(range(2, 3), arguments, "array_contains")
    array = array_of(arguments[0], "array_contains")
    kind = array.type.value_type
    if common_type([kind, arguments[1].type], "array_contains") != kind or pa.types.is_nested(kind):
        raise UnknownExpressionError("array_contains takes a value of the list's own type")

    def kernel(column: pa.Array, values: pa.Array) -> pa.Array:
        parents, elements = flat(column)
        same = equal(elements, values.take(pa.array(parents)))
        hits, unsure = (np.zeros(len(column), bool) for _ in range(2))
        hits[parents[pc.fill_null(same, False).to_numpy(zero_copy_only=False)]] = True
        unsure[parents[pc.is_null(same).to_numpy(zero_copy_only=False)]] = True
        nulls = pc.is_null(column).to_numpy(zero_copy_only=False) | pc.is_null(values).to_numpy(zero_copy_only=False)
        return pa.array(hits, mask=nulls | (unsure & ~hits))

    return call(pa.bool_(), kernel, array, cast_to(arguments[1], kind))


def distinct(arguments: Sequence[Bound]) -> Bound:
    """`array_distinct`: each element at its first place."""
    expect(range(1, 2), arguments, "array_distinct")
    array = array_of(arguments[0], "array_distinct")
    if pa.types.is_nested(array.type.value_type) or is_float(array.type.value_type):
        raise UnknownExpressionError(f"array_distinct is not supported for {name_of(array.type.value_type)}")

    def kernel(column: pa.Array) -> pa.Array:
        parents, elements = flat(column)
        codes = pc.fill_null(elements.dictionary_encode().indices, -1).to_numpy().astype(np.int64)
        pairs = np.stack([parents, codes], axis=1)
        first = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
        return _lists(column, parents[first], elements.take(pa.array(first)))

    return call(array.type, kernel, array)


def flat(column: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """The row of each element of lists, and the elements.

    Arrow's own parent indices count from the start of the array behind a slice.
    """
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    return np.repeat(np.arange(len(column)), lengths), pc.list_flatten(column)


def _lists(column: pa.Array, parents: npt.NDArray[np.int64], elements: pa.Array) -> pa.Array:
    """Build lists from elements sorted by row, null where the column's lists are."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(parents, minlength=len(column)))]).astype(np.int32)
    kind = pa.list_(elements.type)
    mask = pc.is_null(column)
    return pa.ListArray.from_arrays(pa.array(offsets), elements, kind, mask=mask)


def each(name: str) -> Callable[[Sequence[Tree], Bind, Callable[[dict[str, pa.DataType]], Bind]], Bound]:
    """`filter` and `transform` with a lambda of an element."""

    def bind(trees: Sequence[Tree], of: Bind, within: Callable[[dict[str, pa.DataType]], Bind]) -> Bound:
        expect(range(2, 3), trees, name)
        array, function = array_of(of(trees[0]), name), trees[1]
        if not isinstance(function, Lambda) or len(function.parameters) != 1:
            raise UnknownExpressionError(f"{name} takes an array and a lambda of one variable: {name}(a, x -> …)")
        (variable,) = function.parameters
        body = within({variable: array.type.value_type})(function.body)
        if name == "filter" and body.type != pa.bool_():
            raise UnknownExpressionError(f"the lambda of filter must return true or false, not {name_of(body.type)}")

        def evaluate(rows: Rows) -> pa.Array:
            parts = [_of_each(name, lists, some, variable, body) for some, lists in _in_pieces(rows, array)]
            return pa.concat_arrays(parts) if parts else pa.array([], kind)

        kind = array.type if name == "filter" else pa.list_(body.type)
        return Bound(kind, evaluate, array.can_fail or body.can_fail)

    return bind


def _of_each(name: str, lists: pa.Array, rows: Rows, variable: str, body: Bound) -> pa.Array:
    """`filter` or `transform` lists by the body of a lambda."""
    parents, elements = flat(lists)
    pieces = [slice(start, start + _ELEMENTS) for start in range(0, max(len(parents), 1), _ELEMENTS)]
    values = pa.concat_arrays(
        [body.evaluate(rows.take(parents[piece]).extended({variable: elements[piece]})) for piece in pieces]
    )
    if name == "transform":
        return _lists(lists, parents, values)
    matching = np.flatnonzero(pc.fill_null(values, False).to_numpy(zero_copy_only=False))
    return _lists(lists, parents[matching], elements.take(pa.array(matching)))


def _in_pieces(rows: Rows, array: Bound) -> Iterator[tuple[Rows, pa.Array]]:
    """Split rows and their lists into pieces of about `_ELEMENTS` elements.

    In a lambda each element has the lists of its row: all rows at once might not fit in memory.
    """
    start, count, elements = 0, _FIRST_ROWS, 0
    while start < rows.length:
        some = rows.take(np.arange(start, min(start + count, rows.length)))
        lists = array.evaluate(some)
        yield some, lists
        start += some.length
        elements += pc.sum(pc.list_value_length(lists)).as_py() or 0
        count = min(max(_ELEMENTS * start // max(elements, 1), 1), _ELEMENTS)


def make_array(arguments: Sequence[Bound]) -> Bound:
    """`array(…)`."""
    expect(range(1, 1 << 20), arguments, "array")
    kind = common_type([argument.type for argument in arguments], "array")
    values = [cast_to(argument, kind) for argument in arguments]

    def kernel(*columns: pa.Array) -> pa.Array:
        rows, count = len(columns[0]), len(columns)
        order = (np.arange(count)[None, :] * rows + np.arange(rows)[:, None]).ravel()
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * count, pa.int32())
        return pa.ListArray.from_arrays(offsets, pa.concat_arrays(columns).take(pa.array(order)))

    return call(pa.list_(kind), kernel, *values, strict=False)
