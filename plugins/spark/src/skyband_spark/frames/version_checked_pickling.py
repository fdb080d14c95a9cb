"""Pickles functions and processors for executors, where they unpickle only if the same code is installed."""

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from attrs import frozen
from skyband.registry import installed
from skyband.version import __version__

from skyband_spark.frames import executor_version_check
from skyband_spark.frames.sharded_plan import ShardedPlan

T = TypeVar("T")


@frozen
class _PickledWithVersions:
    """Calls its payload; unpickles to the payload itself."""

    payload: Any
    made_with: Mapping[str, tuple[str, str, str | None]]

    @property
    def __name__(self) -> str:
        """Its name in Spark's plans."""
        return getattr(self.payload, "__name__", type(self.payload).__name__)

    def __call__(self, *arguments: Any) -> Any:
        return self.payload(*arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        from pyspark import cloudpickle  # this room is read without Spark too

        cloudpickle.register_pickle_by_value(executor_version_check)
        return executor_version_check.unpickle_checked, (self.made_with, cloudpickle.dumps(self.payload))


def pickled_with_versions(payload: T, plan: ShardedPlan) -> T:
    """Wrap `payload` for a worker of Spark: an error names the versions where its installation differs.

    Otherwise a worker without Skyband would fail while unpickling, with an error about some module.
    """
    modules = {"skyband": (__version__, "skyband"), "skyband-spark": (_own_version(), "skyband_spark")}
    modules |= _of_the_query(plan)
    for binding in plan.bindings.values():
        modules[binding.distribution] = binding.version, binding.info.factory.partition(":")[0]
    builds = {module.partition(".")[0] for _, module in modules.values()}
    by_package = {package: executor_version_check.build_of(package) for package in builds}
    made_with = {
        distribution: (version, module, by_package[module.partition(".")[0]])
        for distribution, (version, module) in modules.items()
    }
    wrapped: Any = _PickledWithVersions(payload, made_with)
    return wrapped


def _own_version() -> str:
    """The version of this distribution, which may differ from core's."""
    try:
        return version("skyband-spark")
    except PackageNotFoundError:  # code on a path without metadata
        return __version__


def _of_the_query(plan: ShardedPlan) -> dict[str, tuple[str, str]]:
    """The distribution of the query, with its version and package; empty for a class that no plugin brings."""
    package = type(plan.query).__module__.partition(".")[0]
    return {
        entry.distribution: (entry.version, package)
        for entry in installed().queries.listing
        if entry.info.kind == plan.query.kind and entry.info.factory.partition(".")[0] == package
    }
