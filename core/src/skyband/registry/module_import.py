"""Imports what plugins name as "package.module:Name", when needed, and attributes errors to them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from types import ModuleType
from typing import Any

from skyband.errors import PluginError


@contextmanager
def imports_print_on_stderr() -> Iterator[None]:
    """Send what a plugin prints during its import to stderr: stdout is for data, such as that of `--json`."""
    with redirect_stdout(sys.stderr):
        yield


def import_plugin(name: str) -> ModuleType:
    """Import a module by name.

    Its kernels may be compiled by numba alone, which refuses to cache without a writable folder: numba is then told to
    do without a cache, and the module is imported again.
    """
    try:
        with imports_print_on_stderr():
            return import_module(name)
    except RuntimeError as error:
        # Imported here because it loads numba, which is loaded by now.
        from skyband.kernels.numba_compiler_patches.without_cache import is_about_the_folder

        if not is_about_the_folder(error):
            raise
    with imports_print_on_stderr():
        return import_module(name)


def load(place: str, whose: str) -> Any:
    """The object at "package.module:Name". Raises PluginError that names its owner, `whose`, and the place."""
    module, _, name = place.partition(":")
    try:
        return getattr(import_plugin(module), name)
    except (Exception, SystemExit) as error:  # importing a plugin's module may raise anything
        home = module.partition(".")[0].replace("_", "-")
        lacks = isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("skyband_")
        hint = f"; it comes with {home}: pip install {home}" if lacks and home.startswith("skyband-") else ""
        raise PluginError(f"{whose}: {place} could not be imported: {cause(error)}{hint}") from error


def load_class(place: str, base: type[Any], whose: str) -> type[Any]:
    """The class at a place. Raises PluginError as `load` does, and if it does not extend `base`."""
    cls = load(place, whose)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise PluginError(f"{whose}: {place} is not a subclass of {base.__name__}")
    return cls


def check_class(cls: type[Any], place: str, whose: str, **names: str) -> None:
    """Raise PluginError unless a class has these attributes and no abstract methods."""
    for attribute, name in names.items():
        own = getattr(cls, attribute, None)
        if own != name:
            raise PluginError(f"{whose}: {place} is named {own!r} instead of {name!r}; names must agree")
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{whose}: {place} has no {', '.join(missing)}")


def cause(error: BaseException) -> str:
    """An exception in one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # str() of a plugin's own exception may fail
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
