"""What a plugin says of each backend, query, role, format and engine it brings, without importing them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from skyband.errors import ConfigError, Problem, suggest

API_MIN, API = 1, 1
"""The oldest and the newest version of the interfaces that this Skyband speaks; a plugin names its own."""

FIRST_API = 1
"""What a plugin that names none was written for, whatever `API` has become since."""

GUARANTEES = ("exact", "bounded", "heuristic")
COMMON_CAPABILITIES = ("merge", "snapshot", "out-of-order")
"""What a backend of any role may have. merge: two become one of both streams. snapshot: to bytes and back.
out-of-order: times may go back."""

ROLE_CAPABILITIES = ("any-since", "any-subquery")
"""What means something for some roles only, which say so. any-since: a backend answers since any moment, not only since
the start of a pane. any-subquery: of many queries at once, it answers each shorter window and smaller k that it was not
made for, at any moment."""

CAPABILITIES = (*COMMON_CAPABILITIES, *ROLE_CAPABILITIES)

FORMAT_ABILITIES = ("reads", "writes", "streams", "current")
"""What a format may do. reads: a job's source. writes: a job's sink, of a batch. streams: its sink takes each
micro-batch of a stream once. current: its sink can hold the newest answers, whose rows are replaced and removed; one
that does not say "streams" has no number of a micro-batch, and to apply one again leaves each row as it was."""

FILE_FORMATS = ("parquet", "csv", "json", "orc", "text", "avro", "arrow")
ENGINE_FORMATS = (*FILE_FORMATS, "console", "jdbc", "memory", "noop", "rate", "socket", "table")
"""The formats of jobs that engines have themselves, files and others: no plugin's is called so."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def api_problem(api: int, plugin: str = "the plugin") -> str | None:
    """Why what was written for this API cannot be used, and what to upgrade; None where it can."""
    if API_MIN <= api <= API:
        return None
    spoken = str(API) if API_MIN == API else f"{API_MIN} to {API}"
    upgrade = "skyband" if api > API else plugin
    return f"written for API {api}, this Skyband speaks {spoken}: upgrade {upgrade}"


@frozen
class BackendInfo:
    """One backend: `role/name`, where its class is, what it promises and what it lacks.

    guarantee: "exact", "bounded" (by its epsilon and delta) or "heuristic".
    lacks: the capabilities it does not have, each with the reason.
    reader: "package.module:Class" of the `AnsweringReader` of its states, which says what can be asked of them; of a
    sketch a `SketchReader`, of a ranker a `TopReader`. None: `RoleInfo.reader` reads them, or nothing.
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

    @property
    def key(self) -> str:
        """The backend's full name, `role/name`."""
        return f"{self.role}/{self.name}"

    def __attrs_post_init__(self) -> None:
        problems = [*_name_problems(self), *_promise_problems(self)]
        if self.reader is not None:
            problems += _name_problems(self, names=(), texts=(), factory="reader")
        if problems:
            raise ConfigError(*problems)


@frozen
class QueryInfo:
    """One kind of query: where its class is, what it answers, and examples of it.

    examples: "package.module:NAME" of a `skyband.queries.example.QueryExample` or a tuple of them, imported only to
    verify or describe it; None where there is none, so that this query cannot be verified.
    presentation: "package.module:Class" of its `skyband.queries.presentation.QueryPresentation`, imported by commands.
    """

    kind: str
    factory: str
    summary: str
    api: int = FIRST_API
    examples: str | None = None
    presentation: str | None = None

    def __attrs_post_init__(self) -> None:
        problems = [*_name_problems(self, names=("kind",), texts=("summary",)), *_api_problems(self)]
        for name in ("examples", "presentation"):
            problems += _name_problems(self, names=(), texts=(), factory=name) if getattr(self, name) else []
        if problems:
            raise ConfigError(*problems)

    @property
    def key(self) -> str:
        """The query's full name, `query/kind`."""
        return f"query/{self.kind}"


@frozen
class RoleInfo:
    """One role: its interface, the backend that does it unless the user says otherwise, and how backends are tried.

    interface: "package.module:Class", a subclass of `skyband.roles.Backend` that every backend of the role extends.

    default: the name of a backend, and `distribution` the one to install for it.

    conformance: the package with the modules `driver` (its DRIVER), `oracle`, `streams` and `checks`, imported only
    by skyband-specs; None where there is none, so that backends of this role cannot be verified.

    capabilities: those of `ROLE_CAPABILITIES` that mean something for its backends, besides what all may have.

    reader: "package.module:Class" of the `AnsweringReader` of states whose backends name none: its class method `of`
    takes a BackendInfo and gives the class to read with. None: such states are not read.
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
        problems = [*_name_problems(self, ("name", "default"), texts, factory="interface"), *_api_problems(self)]
        if self.reader is not None:
            problems += _name_problems(self, names=(), texts=(), factory="reader")
        conformance: Any = self.conformance
        if not isinstance(conformance, str | None):
            problems.append(Problem("conformance", f"must be the name of a package (got {conformance!r})"))
        problems += [
            Problem("capabilities", f"unknown {name!r}; {suggest(name, ROLE_CAPABILITIES)}")
            for name in self.capabilities
            if name not in ROLE_CAPABILITIES
        ]
        if self.name in ("query", "format", "engine"):
            message = f"{self.name!r} stands before the name of a query, format or engine: choose another"
            problems.append(Problem("name", message))
        if problems:
            raise ConfigError(*problems)

    @property
    def all_capabilities(self) -> tuple[str, ...]:
        """What a backend of it may have or lack."""
        return (*COMMON_CAPABILITIES, *self.capabilities)

    @property
    def key(self) -> str:
        """The role's full name, `role/name`."""
        return f"role/{self.name}"


@frozen
class FormatInfo:
    """One format of sources and sinks: where its class is, and what it can.

    name: what a job calls it, as in `format = "acme-log"`.

    factory: "package.module:Class" of a `skyband_jobs.formats.Format`, imported when a job names it.

    can: of `FORMAT_ABILITIES` those it has: "reads", "writes", "streams", "current".

    trial: "package.module:Class" of the `skyband_specs.formats.FormatTrial` by which it is verified, imported only
    then; None where there is none.
    """

    name: str
    factory: str
    summary: str
    can: tuple[str, ...]
    api: int = FIRST_API
    trial: str | None = None

    def __attrs_post_init__(self) -> None:
        problems = [*_name_problems(self, ("name",), ("summary",)), *_api_problems(self)]
        if self.trial is not None:
            problems += _name_problems(self, names=(), texts=(), factory="trial")
        if self.name in ENGINE_FORMATS:
            problems.append(Problem("name", f"{self.name!r} is a format that engines have themselves: choose another"))
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
    """One engine: where its class is, and what it is for.

    name: what `--engine` calls it.

    factory: "package.module:Class" of a `skyband.engines.engine.Engine`, imported when a job runs on it.

    module: "package.module" that `from skyband import NAME` gives, NAME with underscores for hyphens; None where the
    engine has no functions for programs.

    trial: "package.module:Class" of the `skyband_specs.engines.EngineTrial` by which it is verified, imported only
    then; None: it is begun and fed as engines of this process are.
    """

    name: str
    factory: str
    summary: str
    module: str | None = None
    api: int = FIRST_API
    trial: str | None = None

    def __attrs_post_init__(self) -> None:
        problems = [*_name_problems(self, ("name",), ("summary",)), *_api_problems(self)]
        if self.trial is not None:
            problems += _name_problems(self, names=(), texts=(), factory="trial")
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
    factory: str = "factory",
) -> list[Problem]:
    problems = [_not_text(name, getattr(info, name)) for name in texts]
    for name, pattern, what in (
        *((name, _NAME, "lower-case words joined by hyphens") for name in names),
        (factory, _FACTORY, 'written "package.module:Class"'),
    ):
        value = getattr(info, name)
        if not isinstance(value, str) or not value.isascii() or not pattern.fullmatch(value):
            problems.append(Problem(name, f"must be {what} (got {value!r})"))
    return [problem for problem in problems if problem]


def _api_problems(info: "Info") -> list[Problem]:
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
