"""Checks in an executor, before anything else of ours runs, that the same code is installed as on the driver.

This module travels by value, so that it works where Skyband itself is missing. It imports nothing of ours before that
is known.
"""

from collections.abc import Mapping
from typing import Any


def unpickle_checked(made_with: Mapping[str, tuple[str, str, str | None]], pickled: bytes) -> Any:
    """Unpickle, after comparing versions. `made_with`: for each distribution its version on the driver, one of its
    modules, and the package's build there, as from `build_of`.

    Raises PluginError with both versions or builds if a distribution is missing here or has other code.
    """
    import pickle
    import platform
    import sys

    differing = []
    for distribution, (version, module, _) in made_with.items():
        installed = _other_version(distribution, version, module)
        if installed is not None:
            differing.append(f"the driver has {distribution} {version}, this executor {installed}")
    # One module may need another distribution: all are checked before any is imported.
    for distribution, (version, module, build) in made_with.items():
        other = build if differing else build_of(module.partition(".")[0])
        if None not in (build, other) and build != other:
            both = f"{distribution} {version} of build {build}, this executor build {other}"
            differing.append(f"the driver has {both}: the same version of other code")
    if differing:
        place = f"{sys.executable} on {platform.node()}"
        remedy = "install the same on both, or ship one environment with spark.archives"
        raise _error()(f"{'; '.join(differing)} ({place}): {remedy}")
    return pickle.loads(pickled)


def build_of(package: str) -> str | None:
    """A hash that identifies a package's code; None if it is in an archive.

    O(bytes of its modules), once per process.
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


def _other_version(distribution: str, expected: str, module: str) -> str | None:
    """The version installed here, if it is not the expected one; else None."""
    from importlib import import_module
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    package = module.partition(".")[0]
    installed: str | None
    try:
        installed = version(distribution)
    except PackageNotFoundError:
        installed = None  # code on a path without metadata, or none at all
    if installed is not None and installed != expected:
        return installed
    try:
        if find_spec(module) is None:
            return f"has no module {module} of it" if installed else "has none"
        installed = installed or getattr(import_module(package), "__version__", expected)
    except ImportError as error:
        return "has none" if error.name == package else f"cannot import it ({error})"
    return None if installed == expected else installed


def _error() -> type[Exception]:
    """PluginError, or a class of that name where Skyband cannot be imported."""
    try:
        from skyband.errors import PluginError
    except ImportError:
        return type("PluginError", (Exception,), {"__module__": "skyband.errors"})
    return PluginError
