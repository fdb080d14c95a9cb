"""Names of a package that are imported when first asked for: what a plugin exports costs nothing until it is used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package for names that stand in modules of it.

    Parameters
    ----------
    package : str
        its `__name__`
    homes : mapping
        for each name the module it stands in, as seen from the package; the name itself for a module

    Returns
    -------
    function
        imports the module of a name and returns what is called so; AttributeError for any other name

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
