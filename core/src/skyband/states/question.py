"""Question: what can be asked of the states of a backend. Its parameters are its attrs fields, as everywhere."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa

from skyband.config.parameters import Parameter, build, parameters_of
from skyband.errors import ConfigError, InputError
from skyband.states.state import State


class Question(ABC):
    """A question to one state, or to several together. A reader names it in `AnsweringReader.questions`.

    `skyband ask`, `skyband.states`, `skyband.spark.states` and the functions in SQL are made of it: its docstring is
    theirs, its fields are their parameters (`skyband.config.parameters`), which have defaults all. A field of type
    "list" is an option that may be given several times, one of type "range" (`range_parameter`) has two ends.

        @define
        class Spread(Question):
            "How far apart the values of a window are."

            name = "spread"
            result = pa.struct([("least", pa.float64()), ("most", pa.float64())])
            unit: float = number(1.0, above=0, help="what the numbers are multiples of")

            def answer(self, states, since):
                ends = [state.reader.ends(moment) for state, moment in zip(states, since)]
                return min(low for low, _ in ends) / self.unit, max(high for _, high in ends) / self.unit
    """

    name: ClassVar[str]
    """As Python calls it; in SQL with `skyband_` before it."""
    result: ClassVar[pa.DataType]
    """A struct: one row, and `answer` gives a tuple. A list of structs: a table, and `answer` gives its columns, arrays
    by name. Anything else: one value."""
    objects: ClassVar[str | None] = None
    """The column of the result that `answer` gives as ids of objects: their values take the place of these."""
    of_pairs: ClassVar[bool] = False
    """Whether it lays two states beside each other, each with a window up to its own moment; else the rows of several
    are counted together, and their windows are one."""
    each: ClassVar[tuple[str, ...]] = ()
    """A parameter that the command line takes several times, for an answer each and a column that says which."""
    whole_numbers: ClassVar[bool] = False
    """Whether the command line rounds its numbers."""
    returns: ClassVar[str] = ""
    """What its function in Python gives, in words; empty: the columns of `result`."""
    sql_names: ClassVar[tuple[str, ...]] = ()
    """More names by which SQL knows it."""
    exports: ClassVar[tuple[str, ...]] = ()
    """What else of its module `skyband.states` has."""

    @abstractmethod
    def answer(self, states: Sequence[State], since: Sequence[int]) -> Any:
        """The answer of states with equal parameters, each since its moment, as the backend knows it.

        What a reader can do is asked of `states[0].reader` or, of several, of its class.
        """

    @classmethod
    def make(cls, values: Mapping[str, Any]) -> Self:
        """With these parameters. Raises InputError that names the first that is wrong."""
        try:
            return build(cls, values)
        except ConfigError as error:
            first = error.problems[0]
            raise InputError(first.field, first.message) from error

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """What it is asked with."""
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
