"""The kinds of query, core's own among them, and how one is made from its keys."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from skyband.discovery import cause
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.hookspecs import hookimpl
from skyband.info import API, QueryInfo
from skyband.parameters import build
from skyband.registry import installed

if TYPE_CHECKING:
    from skyband.queries.query import Query


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The queries core brings, through an entry point like any other plugin's."""
    return [
        QueryInfo(
            "distinct-count",
            "skyband.queries.distinct_count:DistinctCount",
            "how many different items each window holds",
        ),
        QueryInfo(
            "top-k",
            "skyband.queries.top_k:TopK",
            "the best objects of each window, by values that arrive in separate streams",
        ),
        QueryInfo(
            "top-k-pairs",
            "skyband.queries.top_k_pairs:TopKPairs",
            "the most similar pairs of sets in each window, within one stream or across two",
        ),
        QueryInfo(
            "top-k-workload",
            "skyband.queries.top_k_workload:TopKWorkload",
            "many top-k queries over one stream, each with a window, slide and k of its own",
        ),
        QueryInfo(
            "uncertain-sum",
            "skyband.queries.uncertain_sum:UncertainSum",
            "the sum of the last tuples that exist, where they may not",
        ),
        QueryInfo(
            "uncertain-join",
            "skyband.queries.uncertain_join:UncertainJoin",
            "which uncertain tuples of two streams are near each other, and how probably",
        ),
    ]


def kinds() -> dict[str, QueryInfo]:
    """The installed kinds of query. Raises PluginError where two plugins claim one."""
    found: dict[str, QueryInfo] = {}
    for plugin in installed().plugins:
        for info in plugin.queries:
            if info.kind in found:
                raise PluginError(f"query {info.kind!r} is claimed twice, the second time by {plugin.distribution}")
            found[info.kind] = info
    return found


def load_query(kind: str) -> "type[Query]":
    """The class of a kind of query. Raises ConfigError where it is unknown, PluginError where its plugin is broken."""
    known = kinds()
    if kind not in known:
        raise ConfigError(Problem("kind", f"unknown {kind!r}; {suggest(kind, known)}"))
    return _load_class(known[kind])


def _load_class(info: QueryInfo) -> "type[Query]":
    from skyband.queries.query import Query

    module, _, name = info.factory.partition(":")
    distribution = next(plugin.distribution for plugin in installed().plugins if info in plugin.queries)
    said = f"query {info.kind!r} of {distribution}: {info.factory}"
    if info.api != API:
        upgrade = "skyband" if info.api > API else distribution
        raise PluginError(f"{said} is written for API {info.api}, this Skyband speaks {API}: upgrade {upgrade}")
    try:
        cls = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # a plugin's module may do anything when it is imported
        raise PluginError(f"{said} could not be imported: {cause(error)}") from error
    if not (isinstance(cls, type) and issubclass(cls, Query)):
        raise PluginError(f"{said} is not a subclass of Query")
    if getattr(cls, "kind", None) != info.kind:
        raise PluginError(f"{said} calls itself {getattr(cls, 'kind', None)!r}; names must agree")
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{said} has no {', '.join(missing)}")
    return cls


def make_query(values: "Query | Mapping[str, Any]") -> "Query":
    """A query from its keys, `kind` among them; a Query is returned as it is.

    Raises ConfigError with every problem at once.
    """
    from skyband.queries.query import Query

    if isinstance(values, Query):
        return values
    keys = _keys(values)
    kind = keys.pop("kind", None)
    if kind is None:
        raise ConfigError(Problem("kind", f"is required; {suggest('', kinds())}"))
    if not isinstance(kind, str):
        raise ConfigError(Problem("kind", f"must be a name (got {kind!r}); {suggest('', kinds())}"))
    return build(load_query(kind), keys)


def _keys(values: Any) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        said = f'must be a query\'s keys, such as {{"kind": "distinct-count", …}}, or a Query (got {values!r})'
        raise ConfigError(Problem("", said))
    return dict(values)
