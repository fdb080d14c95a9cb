"""Functions and processors on their way to the executors: opened there only where the same code is installed."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import frozen
from pyspark import cloudpickle

import skyband
from skyband.engines import opening
from skyband.engines.shipment import Shipment

cloudpickle.register_pickle_by_value(opening)

T = TypeVar("T")


@frozen
class _Sealed:
    """Called like what is inside; unpickled, it is what was inside."""

    inside: Any
    made_with: Mapping[str, tuple[str, str]]

    @property
    def __name__(self) -> str:
        """What Spark calls it in its plans."""
        return getattr(self.inside, "__name__", type(self.inside).__name__)

    def __call__(self, *arguments: Any) -> Any:
        return self.inside(*arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return opening.opened, (self.made_with, cloudpickle.dumps(self.inside))


def sealed(inside: T, shipment: Shipment) -> T:
    """`inside`, for a worker of Spark to open: an error names the versions where its installation differs.

    Without the seal a worker that lacks Skyband would fail while unpickling, with an error about some module.
    """
    made_with = {"skyband": (skyband.__version__, "skyband")}
    for binding in shipment.bindings.values():
        made_with[binding.distribution] = binding.version, binding.info.factory.partition(":")[0]
    wrapped: Any = _Sealed(inside, made_with)
    return wrapped
