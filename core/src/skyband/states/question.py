"""Question: something that can be asked about the states of a backend. Its attrs fields are its parameters."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa

from skyband.config.parameters import Parameter, build, parameters_of
from skyband.errors import ConfigError, InputError
from skyband.states.state import State


class Question(ABC):
    """A question about one state, or several together. A reader names it in `AnsweringReader.questions`.

    It defines `skyband ask`, `skyband.states` and the functions of engines: they use its docstring,
    and its fields (`skyband.config.parameters`), which all have defaults, as parameters. A field of type "list" is an
    option that can be repeated, one of type "range" (`range_parameter`) has two ends.

        @define
        class Spread(Question):
            "The spread of the values in a window."

            name = "spread"
            result = pa.struct([("least", pa.float64()), ("most", pa.float64())])
            unit: float = number(1.0, above=0, help="unit of the numbers")

            def answer(self, states, since):
                ends = [state.reader.ends(moment) for state, moment in zip(states, since)]
                return min(low for low, _ in ends) / self.unit, max(high for _, high in ends) / self.unit
    """

    name: ClassVar[str]
    """Its name in Python; SQL puts `skyband_` before it."""
    result: ClassVar[pa.DataType]
    """A struct: `answer` returns one row, as a tuple. A list of structs: `answer` returns a table, as arrays by column
    name. Anything else: one value."""
    objects: ClassVar[str | None] = None
    """The result column that `answer` returns as object ids; the objects' values replace them."""
    of_pairs: ClassVar[bool] = False
    """Whether it compares two states, each with a window up to its own moment; otherwise the rows of several states are
    counted together, over one window."""
    own_windows: ClassVar[bool] = False
    """Whether its windows are those of the query that made the state, so that `since` and `last` are refused."""
    each: ClassVar[tuple[str, ...]] = ()
    """A parameter that can be repeated on the command line: one answer for each, and a column that says which."""
    whole_numbers: ClassVar[bool] = False
    """Whether the command line rounds its numbers."""
    returns: ClassVar[str] = ""
    """The return value of its Python function, in words; empty: the columns of `result`."""
    sql_names: ClassVar[tuple[str, ...]] = ()
    """More names for it in SQL."""
    exports: ClassVar[tuple[str, ...]] = ()
    """Other names of its module that `skyband.states` exports."""

    @abstractmethod
    def answer(self, states: Sequence[State], since: Sequence[int]) -> Any:
        """The answer of states with equal parameters, each since its moment in the backend's time.

        For a reader's abilities, look at `states[0].reader`, or its class if there are several.
        """

    @classmethod
    def make(cls, values: Mapping[str, Any]) -> Self:
        """The question with these parameters. Raises InputError that names the first wrong one."""
        try:
            return build(cls, values)
        except ConfigError as error:
            first = error.problems[0]
            raise InputError(first.field, first.message) from error

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Its parameters."""
        return parameters_of(cls)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(parameter.name for parameter in cls.parameters())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its result."""
        fields: Any = self.result.value_type if pa.types.is_list(self.result) else self.result
        return tuple(field.name for field in fields) if pa.types.is_struct(fields) else (self.name,)
