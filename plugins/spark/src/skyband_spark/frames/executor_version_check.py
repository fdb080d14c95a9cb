"""What an executor runs before anything else of ours: is the same installed here as where the query was made?

This module travels by value, so that it can speak where Skyband itself is missing. It imports nothing of ours before
that is known.
"""

from collections.abc import Mapping
from typing import Any


def unpickle_checked(made_with: Mapping[str, tuple[str, str, str | None]], pickled: bytes) -> Any:
    """What was pickled, unpickled. `made_with`: by distribution, its version at the driver, a module of it, and the
    build, `build_of` its package there.

    Raises PluginError, naming both versions or builds, where a distribution is missing here or of another code.
    """
    import pickle
    import platform
    import sys

    differing = []
    for distribution, (version, module, _) in made_with.items():
        here = _here(distribution, version, module)
        if here is not None:
            differing.append(f"the driver runs {distribution} {version}, this executor {here}")
    # One module may need another distribution: all are known to be here before any is imported.
    for distribution, (version, module, build) in made_with.items():
        other = build if differing else build_of(module.partition(".")[0])
        if None not in (build, other) and build != other:
            both = f"{distribution} {version} of build {build}, this executor of build {other}"
            differing.append(f"the driver runs {both}: the same version of other code")
    if differing:
        place = f"{sys.executable} on {platform.node()}"
        remedy = "install the same on both, or ship one environment with spark.archives"
        raise _error()(f"{'; '.join(differing)} ({place}): {remedy}")
    return pickle.loads(pickled)


def build_of(package: str) -> str | None:
    """What tells the code of a package from other code of its version; None where it is in an archive.

    O(bytes of its modules), once a process.
    """
    import hashlib
    from importlib import import_module
    from pathlib import Path

    module: Any = import_module(package)
    place = Path(str(module.__file__)).parent
    if not place.is_dir():
        return None
    if "__build__" not in vars(module):
        digest = hashlib.sha256()
        for path in sorted(place.rglob("*.py")):
            digest.update(path.relative_to(place).as_posix().encode() + b"\0" + path.read_bytes())
        module.__build__ = digest.hexdigest()[:12]
    build: str = module.__build__
    return build


def _here(distribution: str, expected: str, module: str) -> str | None:
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
    if here is not None and here != expected:
        return here
    try:
        if find_spec(module) is None:
            return f"has no module {module} of it" if here else "has none"
        here = here or getattr(import_module(package), "__version__", expected)
    except ImportError as error:
        return "has none" if error.name == package else f"cannot import it ({error})"
    return None if here == expected else here


def _error() -> type[Exception]:
    """PluginError, or what is called so where Skyband cannot be imported."""
    try:
        from skyband.errors import PluginError
    except ImportError:
        return type("PluginError", (Exception,), {"__module__": "skyband.errors"})
    return PluginError
