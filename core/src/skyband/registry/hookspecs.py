"""The hooks a plugin may implement: nine, each with a one-line docstring."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

from skyband.errors import Problem
from skyband.registry.info import BackendInfo, EngineInfo, FormatInfo, QueryInfo, RoleInfo

if TYPE_CHECKING:
    import click

PROJECT = "skyband"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def skyband_backends() -> Iterable[BackendInfo]:  # type: ignore[empty-body]
    """The backends this plugin brings."""


@hookspec
def skyband_queries() -> Iterable[QueryInfo]:  # type: ignore[empty-body]
    """The kinds of query this plugin brings."""


@hookspec
def skyband_roles() -> Iterable[RoleInfo]:  # type: ignore[empty-body]
    """The roles this plugin brings, each with its interface, its default backend and its conformance checks."""


@hookspec
def skyband_formats() -> Iterable[FormatInfo]:  # type: ignore[empty-body]
    """The formats of sources and sinks this plugin brings, read and written in the process of a job."""


@hookspec
def skyband_engines() -> Iterable[EngineInfo]:  # type: ignore[empty-body]
    """The engines this plugin brings, each of which runs queries."""


@hookspec
def skyband_cases(role: str, name: str) -> Iterable[Mapping[str, Any]]:  # type: ignore[empty-body]
    """More parameter sets with which the conformance checks test the backend role/name."""


@hookspec
def skyband_commands(group: "click.Group") -> None:
    """Add commands to the `skyband` command line."""


@hookspec
def skyband_rules(job: Any, engine: str) -> Iterable[Problem]:  # type: ignore[empty-body]
    """Problems of a job by this plugin's own rules, reported by `skyband check` and before every run."""


@hookspec
def skyband_metrics(job: Any, metrics: Mapping[str, Any]) -> None:
    """Receive the metrics of a job's run, after each micro-batch and at its end."""
