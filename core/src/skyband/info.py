"""What a plugin says of each backend and query it brings, without importing them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from skyband.errors import ConfigError, Problem, suggest

API = 1
"""The version of the role interfaces. A plugin names the one it was written for."""

GUARANTEES = ("exact", "bounded", "heuristic")
CAPABILITIES = ("merge", "snapshot", "out-of-order", "any-since")
"""merge: two become one of both streams. snapshot: to bytes and back. out-of-order: times may go back.
any-since: a sketch answers since any moment, not only since the start of a pane."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def capabilities_of(role: str) -> tuple[str, ...]:
    """The capabilities that mean something for a role: `any-since` does for sketches only."""
    return tuple(name for name in CAPABILITIES if name != "any-since" or role == "sketch")


@frozen
class BackendInfo:
    """One backend: `role/name`, where its class is, what it promises and what it lacks.

    guarantee: "exact", "bounded" (by its epsilon and delta) or "heuristic".
    lacks: the capabilities it does not have, each with the reason.
    """

    role: str
    name: str
    factory: str
    summary: str
    guarantee: str
    reference: str
    lacks: Mapping[str, str] = field(factory=dict)
    api: int = API

    @property
    def key(self) -> str:
        """The backend's full name, `role/name`."""
        return f"{self.role}/{self.name}"

    def __attrs_post_init__(self) -> None:
        problems = [*_name_problems(self), *_promise_problems(self)]
        if problems:
            raise ConfigError(*problems)


@frozen
class QueryInfo:
    """One kind of query: where its class is and what it answers."""

    kind: str
    factory: str
    summary: str
    api: int = API

    def __attrs_post_init__(self) -> None:
        problems = [*_name_problems(self, names=("kind",), texts=("summary",)), *_api_problems(self)]
        if problems:
            raise ConfigError(*problems)


def _name_problems(
    info: BackendInfo | QueryInfo,
    names: Sequence[str] = ("role", "name"),
    texts: Sequence[str] = ("summary", "reference"),
) -> list[Problem]:
    problems = [_not_text(name, getattr(info, name)) for name in texts]
    for name, pattern, what in (
        *((name, _NAME, "lower-case words joined by hyphens") for name in names),
        ("factory", _FACTORY, 'written "package.module:Class"'),
    ):
        value = getattr(info, name)
        if not isinstance(value, str) or not value.isascii() or not pattern.fullmatch(value):
            problems.append(Problem(name, f"must be {what} (got {value!r})"))
    return [problem for problem in problems if problem]


def _api_problems(info: BackendInfo | QueryInfo) -> list[Problem]:
    api: Any = info.api
    return [] if isinstance(api, int) else [Problem("api", f"must be a whole number (got {api!r})")]


def _promise_problems(info: BackendInfo) -> list[Problem]:
    problems = _api_problems(info)
    if info.guarantee not in GUARANTEES:
        problems.append(Problem("guarantee", f"unknown {info.guarantee!r}; {suggest(info.guarantee, GUARANTEES)}"))
    lacks: Any = info.lacks
    if not isinstance(lacks, Mapping):
        return [*problems, Problem("lacks", f"must map capabilities to reasons (got {lacks!r})")]
    for capability, reason in lacks.items():
        if not isinstance(reason, str) or not reason:
            problems.append(Problem("lacks", f"{capability} needs a reason (got {reason!r})"))
        if capability not in CAPABILITIES:
            message = f"unknown capability {capability!r}; {suggest(capability, CAPABILITIES)}"
            problems.append(Problem("lacks", message))
    return problems


def _not_text(name: str, value: Any) -> Any:
    return None if isinstance(value, str) and value else Problem(name, f"must be a sentence (got {value!r})")
