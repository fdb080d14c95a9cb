"""The base class of what writes a local run's answers."""

from abc import ABC, abstractmethod

import pyarrow as pa


class Writer(ABC):
    """Takes answers as they arrive. `commit` makes them visible, `abandon` removes them."""

    @abstractmethod
    def write(self, answers: pa.Table) -> None: ...

    def commit(self) -> None: ...  # noqa: B027 - the console has nothing to finish

    def abandon(self) -> None: ...  # noqa: B027
