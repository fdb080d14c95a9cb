"""What takes the answers of a run on the local engine."""

from abc import ABC, abstractmethod

import pyarrow as pa


class Writer(ABC):
    """Takes answers as they come. `commit` makes them visible, `abandon` leaves nothing."""

    @abstractmethod
    def write(self, answers: pa.Table) -> None: ...

    def commit(self) -> None: ...  # noqa: B027 - the console has nothing to finish

    def abandon(self) -> None: ...  # noqa: B027
