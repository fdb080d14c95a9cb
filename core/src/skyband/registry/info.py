"""Descriptions of backends, queries, roles, formats and engines, which plugins return without importing them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from attrs import field, frozen

from skyband.errors import ConfigError, Problem, suggest

API_MIN, API = 1, 1
"""The oldest and newest version of the interfaces that this Skyband supports; a plugin names its own."""

FIRST_API = 1
"""The version of a plugin that names none, whatever `API` is now."""

GUARANTEES = ("exact", "bounded", "heuristic")
COMMON_CAPABILITIES = ("merge", "snapshot", "out-of-order")
"""Capabilities for backends of any role. merge: two become one of both streams. snapshot: to bytes and back.
out-of-order: times may go back."""

ROLE_CAPABILITIES = ("any-since", "any-subquery", "below")
"""Capabilities that only some roles use, which list them. any-since: a backend answers since any moment, not only
since the start of a pane. any-subquery: with many queries, it also answers any shorter window and smaller k, at any
moment. below: it also tells when a count falls."""

CAPABILITIES = (*COMMON_CAPABILITIES, *ROLE_CAPABILITIES)

FORMAT_ABILITIES = ("reads", "follows", "writes", "streams", "current")
"""The abilities of a format. reads: a job's source. follows: a stream's, without Spark. writes: a job's batch sink.
streams: its sink applies each micro-batch once. current: its sink can hold the newest answers, replacing and removing
rows; without "streams" it has no number of a micro-batch, and applying one again must leave each row unchanged."""

FILE_FORMATS = ("parquet", "csv", "json", "orc", "text", "avro", "arrow")
ENGINE_FORMATS = (*FILE_FORMATS, "console", "jdbc", "memory", "noop", "rate", "socket", "table")
"""The formats that engines have themselves, files and others: a plugin's format must not use these names."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def api_problem(api: int, plugin: str = "the plugin") -> str | None:
    """Why code written for this API cannot be used, and what to upgrade; None if it can."""
    if API_MIN <= api <= API:
        return None
    spoken = str(API) if API_MIN == API else f"{API_MIN} to {API}"
    upgrade = "skyband" if api > API else plugin
    return f"written for API {api}, this Skyband supports {spoken}: upgrade {upgrade}"


@frozen
class BackendInfo:
    """One backend: its `role/name`, the place of its class, its guarantee and what it lacks.

    guarantee: "exact", "bounded" (by its epsilon and delta) or "heuristic".
    lacks: the capabilities it does not have, each with the reason.
    error: if bounded, the parameter that bounds its error, by which `error` in a job sets it; None: there is none.
    reader: "package.module:Class" of the `AnsweringReader` of its states, which lists the questions they answer; for a
    sketch a `SketchReader`, for a ranker a `TopReader`. None: `RoleInfo.reader` reads them, or nothing does.
    """

    role: str
    name: str
    factory: str
    summary: str
    guarantee: str
    reference: str
    lacks: Mapping[str, str] = field(factory=dict)
    api: int = FIRST_API
    reader: str | None = None
    error: str | None = "epsilon"

    @property
    def key(self) -> str:
        """The backend's full name, `role/name`."""
        return f"{self.role}/{self.name}"

    def __attrs_post_init__(self) -> None:
        if problems := [*_name_problems(self, optional=("reader",)), *_promise_problems(self)]:
            raise ConfigError(*problems)


@frozen
class QueryInfo:
    """One kind of query: the place of its class, a summary of its answers, and its examples.

    examples: "package.module:NAME" of a `skyband.queries.example.QueryExample` or a tuple of them, imported only to
    verify or describe the query; None if there are none, so that it cannot be verified.
    presentation: "package.module:Class" of its `skyband.queries.presentation.QueryPresentation`, imported by commands.
    reader: "package.module:Class" of the `AnsweringReader` of states that are of the query itself, not of a backend;
    their header has the role "query" and the kind as name.
    """

    role: ClassVar[str] = "query"
    lacks: ClassVar[Mapping[str, str]] = {"merge": "a query's own states are asked together instead"}

    kind: str
    factory: str
    summary: str
    api: int = FIRST_API
    examples: str | None = None
    presentation: str | None = None
    reader: str | None = None

    def __attrs_post_init__(self) -> None:
        if problems := _name_problems(self, ("kind",), ("summary",), ("examples", "presentation", "reader")):
            raise ConfigError(*problems)

    @property
    def key(self) -> str:
        """The query's full name, `query/kind`."""
        return f"{self.role}/{self.kind}"

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind


@frozen
class RoleInfo:
    """One role: its interface, its default backend, and its conformance checks.

    interface: "package.module:Class", a subclass of `skyband.roles.Backend` that every backend of the role extends.
    default: the name of a backend, and `distribution` the one that brings it.
    conformance: the package with the modules `driver` (its DRIVER), `oracle`, `streams` and `checks`, imported only
    by skyband-specs; None if there is none, so that backends of this role cannot be verified.
    capabilities: those of `ROLE_CAPABILITIES` that its backends can have, besides the common ones.
    reader: "package.module:Class" of the `AnsweringReader` for states whose backends name none: its class method `of`
    takes a BackendInfo and returns the class to read with. None: such states cannot be read.
    """

    name: str
    interface: str
    default: str
    distribution: str
    summary: str
    conformance: str | None = None
    api: int = FIRST_API
    capabilities: tuple[str, ...] = ()
    reader: str | None = None

    def __attrs_post_init__(self) -> None:
        texts = ("summary", "distribution")
        problems = _name_problems(self, ("name", "default"), texts, ("reader",), factory="interface")
        conformance: Any = self.conformance
        if not isinstance(conformance, str | None):
            problems.append(Problem("conformance", f"must be the name of a package (got {conformance!r})"))
        problems += [
            Problem("capabilities", f"unknown {name!r}; {suggest(name, ROLE_CAPABILITIES)}")
            for name in self.capabilities
            if name not in ROLE_CAPABILITIES
        ]
        if self.name in ("query", "format", "engine"):
            message = f"{self.name!r} is the prefix of a query, format or engine: choose another name"
            problems.append(Problem("name", message))
        if problems:
            raise ConfigError(*problems)

    @property
    def all_capabilities(self) -> tuple[str, ...]:
        """The capabilities that a backend of this role can have or lack."""
        return (*COMMON_CAPABILITIES, *self.capabilities)

    @property
    def key(self) -> str:
        """The role's full name, `role/name`."""
        return f"role/{self.name}"


@frozen
class FormatInfo:
    """One format of sources and sinks: the place of its class, and its abilities.

    name: its name in a job, as in `format = "acme-log"`.
    factory: "package.module:Class" of a format, imported when a job names it.
    can: its abilities, from `FORMAT_ABILITIES`: "reads", "follows", "writes", "streams", "current".
    trial: "package.module:Class" of the `skyband_specs.formats.FormatTrial` that verifies it, imported only then; None
    if there is none.
    """

    name: str
    factory: str
    summary: str
    can: tuple[str, ...]
    api: int = FIRST_API
    trial: str | None = None

    def __attrs_post_init__(self) -> None:
        problems = _name_problems(self, ("name",), ("summary",), ("trial",))
        if self.name in ENGINE_FORMATS:
            problems.append(Problem("name", f"{self.name!r} is a format of the engines: choose another name"))
        can: Any = self.can
        if not isinstance(can, tuple | list) or not can:
            problems.append(Problem("can", f"must be some of {', '.join(FORMAT_ABILITIES)} (got {can!r})"))
        else:
            problems += [
                Problem("can", f"unknown {name!r}; {suggest(str(name), FORMAT_ABILITIES)}")
                for name in can
                if name not in FORMAT_ABILITIES
            ]
        if problems:
            raise ConfigError(*problems)

    @property
    def key(self) -> str:
        """The format's full name, `format/name`."""
        return f"format/{self.name}"


@frozen
class EngineInfo:
    """One engine: the place of its class, and its purpose.

    name: its name for `--engine`.
    factory: "package.module:Class" of a `skyband.engines.engine.Engine`, imported when a job runs on it.
    module: "package.module" that `from skyband import NAME` returns, NAME with underscores for hyphens; None if the
    engine has no functions for programs.
    trial: "package.module:Class" of the `skyband_specs.engines.EngineTrial` that verifies it, imported only then; None:
    it is verified as engines of this process are.
    """

    name: str
    factory: str
    summary: str
    module: str | None = None
    api: int = FIRST_API
    trial: str | None = None

    def __attrs_post_init__(self) -> None:
        problems = _name_problems(self, ("name",), ("summary",), ("trial",))
        module: Any = self.module
        if module is not None and not (isinstance(module, str) and _MODULE.fullmatch(module)):
            problems.append(Problem("module", f'must be written "package.module" (got {module!r})'))
        if problems:
            raise ConfigError(*problems)

    @property
    def key(self) -> str:
        """The engine's full name, `engine/name`."""
        return f"engine/{self.name}"


Info = BackendInfo | QueryInfo | RoleInfo | FormatInfo | EngineInfo


def _name_problems(
    info: "Info",
    names: Sequence[str] = ("role", "name"),
    texts: Sequence[str] = ("summary", "reference"),
    optional: Sequence[str] = (),
    factory: str = "factory",
) -> list[Problem]:
    """Problems with names, sentences, places of classes (those in `optional` may be None) and the API."""
    problems = [_not_text(name, getattr(info, name)) for name in texts]
    places = [factory, *(name for name in optional if getattr(info, name) is not None)]
    for name, pattern, what in (
        *((name, _NAME, "lower-case words joined by hyphens") for name in names),
        *((place, _FACTORY, 'written "package.module:Class"') for place in places),
    ):
        value = getattr(info, name)
        if not isinstance(value, str) or not value.isascii() or not pattern.fullmatch(value):
            problems.append(Problem(name, f"must be {what} (got {value!r})"))
    api: Any = info.api
    problems += [] if isinstance(api, int) else [Problem("api", f"must be a whole number (got {api!r})")]
    return [problem for problem in problems if problem]


def _promise_problems(info: BackendInfo) -> list[Problem]:
    problems = []
    if info.guarantee not in GUARANTEES:
        problems.append(Problem("guarantee", f"unknown {info.guarantee!r}; {suggest(info.guarantee, GUARANTEES)}"))
    lacks, error = cast(Any, info.lacks), cast(Any, info.error)
    if not isinstance(error, str | None):
        problems.append(Problem("error", f"must be the name of a parameter, or None (got {error!r})"))
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
