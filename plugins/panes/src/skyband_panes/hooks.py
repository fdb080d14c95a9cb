"""The hooks of skyband-panes, imported by discovery, and so without any backend."""

from collections.abc import Mapping
from typing import Any

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The wrapped sketch."""
    return [
        BackendInfo(
            role="sketch",
            name="hll-panes",
            factory="skyband_panes.hll_panes:HllPanes",
            summary="an Apache DataSketches HLL for each pane, united for each answer",
            guarantee="bounded",
            reference="Flajolet, Fusy, Gandouet and Meunier 2007; panes: Li, Maier, Tufte, Papadimos and Tucker 2005",
            lacks={
                "any-since": "a pane has one HLL, which cannot be split",
                "merge": "a union of HLLs estimates as well as one HLL of both streams, but has other bytes",
                "out-of-order": "the running estimate of an HLL depends on the order of its keys",
            },
        ),
    ]


@hookimpl
def skyband_cases(role: str, name: str) -> list[Mapping[str, Any]]:
    """Short panes, so that the streams of the checks cross many of them."""
    if (role, name) != ("sketch", "hll-panes"):
        return []
    return [{"epsilon": 0.1, "delta": 0.05, "pane": 5}, {"epsilon": 0.05, "delta": 0.1, "pane": 64}]
