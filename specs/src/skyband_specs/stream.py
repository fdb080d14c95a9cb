"""A stream: the rows of one experiment, which can be cut, shortened and copied for any role."""

from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
from attrs import frozen


@frozen(eq=False)
class Stream:
    """Rows in order of arrival. Each role's subclass declares one field per column, all of the same length.

    A column is a numpy array, or a tuple with one entry per row if the entries differ in length (the tokens of a set).
    Every subsequence of a stream's rows must be a stream: if that takes more than dropping rows (such as renumbering
    them), a subclass extends `take`.
    """

    def __attrs_post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in attrs.fields(type(self))}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns differ in length: {lengths}")

    def __len__(self) -> int:
        first = attrs.fields(type(self))[0]
        return len(getattr(self, first.name))

    def columns(self) -> dict[str, Any]:
        """The columns by name, not copied."""
        return {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}

    def take(self, rows: npt.NDArray[np.int64]) -> Self:
        """The stream of only these rows, as new arrays."""
        return attrs.evolve(self, **{name: _rows_of(column, rows) for name, column in self.columns().items()})

    def copy(self) -> Self:
        """The same rows in their own arrays."""
        return self.take(np.arange(len(self)))


def _rows_of(column: Any, rows: npt.NDArray[np.int64]) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    return tuple(_own(column[row]) for row in rows)


def _own(entry: Any) -> Any:
    return entry.copy() if isinstance(entry, np.ndarray) else entry
