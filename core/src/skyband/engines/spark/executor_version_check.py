"""What an executor runs before anything else of ours: is the same installed here as where the query was made?

This module travels by value, so that it can speak where Skyband itself is missing. It imports nothing of ours before
that is known.
"""

from collections.abc import Mapping
from typing import Any


def unpickle_checked(made_with: Mapping[str, tuple[str, str]], pickled: bytes) -> Any:
    """What was pickled, unpickled. `made_with`: by distribution, its version at the driver and a module of it.

    Raises PluginError, naming both versions, where a distribution is missing here or of another version.
    """
    import pickle
    import platform
    import sys

    differing = []
    for distribution, (version, module) in made_with.items():
        here = _here(distribution, version, module)
        if here is not None:
            differing.append(f"the driver runs {distribution} {version}, this executor {here}")
    if differing:
        place = f"{sys.executable} on {platform.node()}"
        remedy = "install the same on both, or ship one environment with spark.archives"
        raise _error()(f"{'; '.join(differing)} ({place}): {remedy}")
    return pickle.loads(pickled)


def _here(distribution: str, wanted: str, module: str) -> str | None:
    """What is installed here instead of the version wanted; None where it is the same."""
    from importlib import import_module
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    package = module.partition(".")[0]
    here: str | None
    try:
        here = version(distribution)
    except PackageNotFoundError:
        here = None  # code on a path without metadata, or none at all
    if here is not None and here != wanted:
        return here
    try:
        if find_spec(module) is None:
            return f"has no module {module} of it" if here else "has none"
        here = here or getattr(import_module(package), "__version__", wanted)
    except ImportError as error:
        return "has none" if error.name == package else f"cannot import it ({error})"
    return None if here == wanted else here


def _error() -> type[Exception]:
    """PluginError, or what is called so where Skyband cannot be imported."""
    try:
        from skyband.errors import PluginError
    except ImportError:
        return type("PluginError", (Exception,), {"__module__": "skyband.errors"})
    return PluginError
