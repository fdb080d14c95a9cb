"""Core's own plugin: the roles of the papers, and the reference engine."""

from skyband.registry.hookspecs import hookimpl
from skyband.registry.info import EngineInfo, RoleInfo


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The roles whose interfaces are in `skyband.roles`."""
    return [
        _role(
            "sketch", "Sketch", "pcsa-ml", "skyband-distinct", "how many distinct objects since any moment",
            capabilities=("any-since",), reader="skyband_distinct.restored_reader:RestoredReader",
        ),
        _role("window", "Window", "exact", "skyband-uncertain", "which uncertain tuples a window holds"),
        _role("matcher", "Matcher", "block", "skyband-uncertain", "which uncertain tuples are near a probe"),
        _role("object-ranker", "ObjectRanker", "eaa", "skyband-incomplete", "the best objects, known only in part"),
        _role("pair-ranker", "PairRanker", "swoop", "skyband-setjoin", "the most similar pairs of sets"),
        _role(
            "workload-ranker", "WorkloadRanker", "paneband", "skyband-workload", "many top-k queries at once",
            capabilities=("any-subquery",),
        ),
    ]  # fmt: skip


@hookimpl
def skyband_engines() -> list[EngineInfo]:
    """The local engine, the reference."""
    return [EngineInfo("local", "skyband.engines.reference:LocalEngine", "this process, without Java: the reference")]


def _role(
    name: str, interface: str, default: str, distribution: str, summary: str, capabilities: tuple[str, ...] = (),
    reader: str | None = None,
) -> RoleInfo:  # fmt: skip
    module = name.replace("-", "_")
    return RoleInfo(
        name,
        f"skyband.roles.{module}:{interface}",
        default,
        distribution,
        summary,
        conformance=f"skyband_specs.{module}",
        capabilities=capabilities,
        reader=reader,
    )
