"""Imports a package's names on first use, so that a plugin's exports cost nothing until they are used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__` for names defined in its modules.

    Parameters
    ----------
    package : str
        its `__name__`
    homes : mapping
        the module that defines each name, relative to the package; a name mapped to itself is a module

    Returns
    -------
    function
        imports the module of a name and returns the object; raises AttributeError for any other name

    Examples
    --------
    >>> __getattr__ = lazy_names("skyband", {"Problem": "errors"})
    >>> __getattr__("Problem")("query.k", "is required").field
    'query.k'
    """

    def lookup(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return module if homes[name] == name else getattr(module, name)

    return lookup
