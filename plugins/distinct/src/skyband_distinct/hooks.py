"""The hooks of skyband-distinct, imported by discovery, and so without any backend."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skyband import BackendInfo, QueryInfo, hookimpl

if TYPE_CHECKING:
    import click

_PAPER = "Zhang, Zhang, Cheema and Lin 2010, Counting distinct objects over sliding windows"


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """Sketches of distinct keys."""
    return [
        BackendInfo(
            role="sketch",
            name="pcsa-ml",
            factory="skyband_distinct.stamps.pcsa_ml:PcsaMl",
            summary="stamped PCSA read by maximum likelihood: one hash and one store a key",
            guarantee="bounded",
            reference=f"Flajolet and Martin 1985, section 5; {_PAPER}, section 3",
            reader="skyband_distinct.stamps.pcsa_ml_reader:PcsaMlReader",
        ),
        BackendInfo(
            role="sketch",
            name="exact",
            factory="skyband_distinct.exact.backend:Exact",
            summary="a table of every key with its last time",
            guarantee="exact",
            reference="the definition: keys whose last time is at or after the moment",
            reader="skyband_distinct.exact.reader:ExactReader",
        ),
        BackendInfo(
            role="sketch",
            name="k-skb",
            factory="skyband_distinct.k_skb.backend:KSkb",
            summary="k-SKB: the k smallest hashes since any moment, maintained by sweeping a buffer",
            guarantee="bounded",
            reference=f"{_PAPER}, section 4",
            reader="skyband_distinct.k_skb.reader:KSkbReader",
        ),
        BackendInfo(
            role="sketch",
            name="se-fm",
            factory="skyband_distinct.stamps.se_fm:SeFm",
            summary="SE-FM: every key stamps every one of thousands of Flajolet-Martin arrays",
            guarantee="bounded",
            reference=f"{_PAPER}, section 3.1",
        ),
        BackendInfo(
            role="sketch",
            name="se-pcsa",
            factory="skyband_distinct.stamps.se_pcsa:SePcsa",
            summary="SE-PCSA: every key stamps zeta of thousands of Flajolet-Martin arrays",
            guarantee="heuristic",
            reference=f"{_PAPER}, section 3.3",
        ),
    ]


@hookimpl
def skyband_cases(role: str, name: str) -> list[Mapping[str, Any]]:
    """Conformance cases with keys hashed as Spark hashes them, which are not mixed again."""
    if role != "sketch" or name not in ("exact", "k-skb"):
        return []
    bounds = {"epsilon": 0.1, "delta": 0.05} if name == "k-skb" else {}
    return [{**bounds, "hash": "theta"}]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The query distinct-count."""
    return [
        QueryInfo(
            "distinct-count",
            "skyband_distinct.distinct_count.query:DistinctCount",
            "the number of distinct items in each window",
            examples="skyband_distinct.distinct_count.examples:EXAMPLES",
            presentation="skyband_distinct.distinct_count.presentation:DistinctCountPresentation",
        ),
    ]


@hookimpl
def skyband_commands(group: "click.Group") -> None:
    """The command `skyband demo`."""
    from skyband_distinct.demo import command

    group.add_command(command.command, "demo")
