"""Which compiled functions count references to arrays, and which references they count."""

from typing import Any

from numba.core import ir
from numba.core import types as numba_types
from numba.core.runtime.context import NRTContext

types: Any = numba_types
"""Any, because its stubs for mypy lack half of its classes."""


class ReferenceCounts(NRTContext):
    """Like numba's class, but extracts only the counted parts of a value: one of seven in an array."""

    def get_meminfos(self, builder: Any, kind: Any, value: Any) -> list[Any]:
        """The counted parts of a value, as (type, part)."""
        models = self._context.data_model_manager
        model = models[kind]
        counted = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
        for part, getter in model.traverse(builder):
            if models[part].contains_nrt_meminfo():
                counted += self.get_meminfos(builder, part, getter(value))
        return counted


_VIEWS = {"getattr", "static_getitem", "build_tuple", "exhaust_iter", "cast", "phi"}
"""Expressions that return parts of existing arrays, or tuples of them."""


def only_borrows(state: Any) -> bool:
    """Whether a function has only its caller's arrays, parts of these, and tuples of them, and returns none.

    Anything else that holds memory, such as a list, makes this False.
    """
    function = state.func_ir
    if function.is_generator or _holds(state, state.return_type):
        return False
    assigned = [each for block in function.blocks.values() for each in block.find_insts(ir.Assign)]
    references = [each for each in assigned if _holds(state, state.typemap[each.target.name])]
    return all(_is_of_arrays(state.typemap[each.target.name]) and _is_view(state, each.value) for each in references)


def _holds(state: Any, kind: Any) -> bool:
    return state.targetctx.data_model_manager[kind].contains_nrt_meminfo()


def _is_of_arrays(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_of_arrays, kind.types))
    return isinstance(kind, types.Array | types.Number | types.Boolean | types.NoneType)


def _is_view(state: Any, value: Any) -> bool:
    if not isinstance(value, ir.Expr):
        return isinstance(value, ir.Arg | ir.Var)
    if value.op == "getitem":
        place = state.typemap[value.index.name]
        parts = place.types if isinstance(place, types.BaseTuple) else (place,)
        return all(isinstance(part, types.Integer | types.SliceType) for part in parts)
    if value.op == "call":
        return isinstance(state.typemap[value.func.name], types.NamedTupleClass)
    return value.op in _VIEWS
