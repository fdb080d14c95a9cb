"""Functions for programs: list the installed backends, create one, restore one from bytes."""

from typing import TYPE_CHECKING, Any, Literal, overload

from skyband import snapshot
from skyband.errors import ConfigError, SnapshotError
from skyband.registry.backend_loading import key_of, revive_decoded
from skyband.registry.info import BackendInfo
from skyband.registry.registry import installed
from skyband.roles import Backend

if TYPE_CHECKING:
    from skyband.roles import Matcher, ObjectRanker, PairRanker, Sketch, Window, WorkloadRanker


def load_class(info: BackendInfo) -> type[Backend]:
    """The class of an installed backend. Raises PluginError if it is missing or differs from its declaration."""
    return installed().load_class(info)


def interface_of(role: str) -> type[Any]:
    """The interface of a role. Raises ConfigError if there is no such role."""
    return installed().interface_of(role)


def backends(role: str | None = None) -> list[BackendInfo]:
    """The installed backends that can be created, in order of role and name.

    Parameters
    ----------
    role : str, default None
        only those of this role, such as "sketch"; None: all roles
    """
    return installed().backends(role)


@overload
def create(
    role: Literal["sketch"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> "Sketch": ...
@overload
def create(
    role: Literal["window"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> "Window": ...
@overload
def create(
    role: Literal["matcher"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> "Matcher": ...
@overload
def create(
    role: Literal["object-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> "ObjectRanker": ...
@overload
def create(
    role: Literal["pair-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> "PairRanker": ...
@overload
def create(
    role: Literal["workload-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> "WorkloadRanker": ...
@overload
def create(role: str, name: str | None = ..., *, distribution: str | None = ..., **parameters: Any) -> Backend: ...
def create(role: str, name: str | None = None, *, distribution: str | None = None, **parameters: Any) -> Backend:
    """Create a backend of a role.

    Parameters
    ----------
    role : str
        its task: "sketch" (count distinct keys), "window" and "matcher" (for uncertain tuples),
        "object-ranker", "pair-ranker", "workload-ranker", or a role from a plugin, such as
        "total-ranker" or "set-matcher"; `skyband backends` lists them
    name : str, default None
        the backend's name; None: the role's default
    distribution : str, default None
        the installed distribution that brings it, such as "skyband-mine"; needed only if two bring a backend
        of the same role and name
    **parameters
        the backend's own parameters, by name: `skyband describe sketch/k-skb` and `help(type(backend))` give
        the meaning, default and bounds of each

    Returns
    -------
    Backend
        an instance of the role's class in `skyband.roles`, with the same methods for all backends of the role

    Raises
    ------
    ConfigError
        an unknown role, name or parameter, or a value out of bounds: all problems at once, each with its field, the
        value and, if there is one, the closest valid name
    PluginError
        the plugin that brings it is broken

    Examples
    --------
    >>> import skyband
    >>> sketch = skyband.create("sketch", "k-skb", epsilon=0.05)
    >>> sketch.update(times=[1, 2, 3], keys=[7, 8, 7])
    >>> sketch.estimate(since=2)
    2.0
    """
    return installed().bind(role, name, distribution, **parameters).create()


def restore(blob: bytes) -> Backend:
    """A backend from the bytes of its `snapshot()`; it continues as if it had never stopped.

    The bytes need not be trusted: no code in them is run.

    Parameters
    ----------
    blob : bytes
        the return value of `snapshot()`

    Raises
    ------
    SnapshotError
        the bytes are damaged, newer than this Skyband, or of a backend that is not installed
    """
    state = snapshot.decode(blob)
    role, name = state.header.get("role"), state.header.get("name")
    if not (isinstance(role, str) and isinstance(name, str)):
        raise SnapshotError("does not hold a backend's state: its header names no backend")
    try:
        binding = installed().bind(role, name)
    except ConfigError as error:
        raise SnapshotError(f"holds {key_of(state)}, which is not installed: {error}") from error
    return revive_decoded(binding.backend_class, state)
