"""What a program calls: the installed backends, a new one, and one back from its bytes."""

from typing import Any, Literal, overload

from skyband import snapshot
from skyband.errors import ConfigError, SnapshotError
from skyband.registry.info import BackendInfo
from skyband.registry.loading import key_of, load_class, revive_decoded
from skyband.registry.registry import installed
from skyband.roles import Backend, Matcher, ObjectRanker, PairRanker, Sketch, Window, WorkloadRanker


def backends(role: str | None = None) -> list[BackendInfo]:
    """The installed backends that can be created, by role and name."""
    return installed().backends(role)


@overload
def create(
    role: Literal["sketch"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> Sketch: ...
@overload
def create(
    role: Literal["window"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> Window: ...
@overload
def create(
    role: Literal["matcher"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> Matcher: ...
@overload
def create(
    role: Literal["object-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> ObjectRanker: ...
@overload
def create(
    role: Literal["pair-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> PairRanker: ...
@overload
def create(
    role: Literal["workload-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> WorkloadRanker: ...
@overload
def create(role: str, name: str | None = ..., *, distribution: str | None = ..., **parameters: Any) -> Backend: ...
def create(role: str, name: str | None = None, *, distribution: str | None = None, **parameters: Any) -> Backend:
    """A new backend, e.g. `create("sketch", "k-skb", epsilon=0.02)`; without a name, the role's default.

    Raises ConfigError, with every problem at once, naming the field, the value and the closest right one.
    """
    return installed().bind(role, name, distribution, **parameters).create()


def restore(blob: bytes) -> Backend:
    """The backend that `snapshot()` was called on, from its bytes; runs no code out of them.

    Raises SnapshotError where the bytes are damaged or newer than this Skyband, or the backend is not installed.
    """
    held = snapshot.decode(blob)
    role, name = held.header.get("role"), held.header.get("name")
    if not (isinstance(role, str) and isinstance(name, str)):
        raise SnapshotError("holds no backend's state: what it is of stands nowhere in it")
    try:
        binding = installed().bind(role, name)
    except ConfigError as error:
        raise SnapshotError(f"holds {key_of(held)}, which is not installed: {error}") from error
    return revive_decoded(load_class(binding.info), held)
