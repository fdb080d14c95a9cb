"""Reads states by restoring them, for backends without a reader."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self, cast

from skyband.arrays import TIME_MIN, Array
from skyband.config.parameters import build
from skyband.errors import InputError
from skyband.registry import load_class
from skyband.registry.info import BackendInfo
from skyband.roles import Sketch

from skyband_distinct.sketch_reader import SketchReader


class RestoredReader(SketchReader):
    """Answers from the restored sketch. Each backend has its own subclass."""

    backend: type[Sketch]

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        self._parameters, self._state = parameters, state
        self._sketch = self._restored()

    def _restored(self) -> Sketch:
        sketch = build(self.backend, self._parameters)
        sketch.load_state(self._state)
        return sketch

    @property
    def latest(self) -> int | None:
        return self._sketch.now

    @property
    def floor(self) -> int:
        return TIME_MIN

    @property
    def retained(self) -> int:
        return len(self._sketch)

    def estimate(self, since: int) -> tuple[float, float, float]:
        return self._sketch.estimate_with_bounds(since)

    @classmethod
    def union(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[float, float, float]:
        if len(set(since)) > 1:
            message = f"{cls.backend.role}/{cls.backend.name} only unites windows that begin at the same moment"
            raise InputError("since", f"{message} (got {', '.join(map(str, sorted(set(since))))})")
        whole = readers[0]._restored()
        for other in readers[1:]:
            whole.merge(other._sketch)
        return whole.estimate_with_bounds(since[0])

    @classmethod
    def of(cls, info: BackendInfo) -> type[Self]:
        """The class that restores the states of a backend. Raises PluginError if the backend cannot be imported."""
        return _class_for(cls, cast(type[Sketch], load_class(info)))


@lru_cache(maxsize=64)
def _class_for(reader: Any, backend: type[Sketch]) -> Any:
    return type(f"{backend.__name__}Restored", (reader,), {"backend": backend})
