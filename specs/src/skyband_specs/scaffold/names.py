"""Names in a new plugin: its classes, and the versions of Skyband that it supports."""

import re

from skyband.version import __version__


def renamed(source: str, name: str, cls: str) -> str:
    """A template's source with `mine` and its class renamed."""
    return re.sub(r"\bmine\b", name, re.sub(r"\bMine[A-Z]\w*", cls, source))


def class_name(name: str, interface: str) -> str:
    """BestSketch for best, MySketch for my-sketch; never the interface's own name."""
    camel = "".join(word.capitalize() for word in name.split("-"))
    return camel if camel.endswith(interface) and camel != interface else camel + interface


def versions() -> str:
    """The range of versions of Skyband that a new plugin depends on."""
    major, minor, *_ = __version__.split(".")
    return f">={major}.{minor},<{major}.{int(minor) + 1}"
