"""Makes a new plugin that brings a query, a format, a role or a command from a folder of templates."""

import re
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable

from attrs import frozen

from skyband_specs.scaffold import repository_files
from skyband_specs.scaffold.names import class_name, versions


@frozen
class Copied:
    """What a plugin of one kind needs besides its folder of templates.

    classes: the last words of the names of its classes, which begin with the plugin's name. needs: the distributions
    that it imports besides Skyband. trial: the command that tries what it brings.
    """

    classes: tuple[str, ...]
    needs: tuple[str, ...]
    trial: str


_ATTRS, _NUMPY, _ARROW = "attrs>=24.2", "numpy>=2.0", "pyarrow>=19.0.1"

COPIED = {
    "query": Copied(("Query",), (_ATTRS, _NUMPY, _ARROW), "skyband verify query/mine"),
    "format": Copied(
        ("Format", "Rows", "Sink", "Trial"), (_ARROW, f"skyband-jobs{versions()}"), "skyband verify format/mine"
    ),
    "role": Copied(("Role", "Driver"), (_ATTRS, _NUMPY), "skyband verify mine/plain"),
    "command": Copied((), ("click>=8.1", _ARROW), "skyband mine --help"),
}
"""By the kind of plugin, whose templates are in the package `KIND_plugin`; those named `test_…` are its tests."""


def render_copy(kind: str, name: str) -> dict[str, str]:
    """The text of each file of a plugin that brings a query, format, role or command of this name, by its path."""
    templates = _texts(package_files(f"{__package__}.{kind}_plugin"), "")
    texts = {path: _renamed(text, kind, name) for path, text in templates}
    description, readme = texts["__init__.py"].strip().strip('".'), texts.pop("README.md")
    trial = _renamed(COPIED[kind].trial, kind, name)
    home = f"src/{repository_files.package_of(name)}"
    return {
        **repository_files.files(name, description, COPIED[kind].needs, readme, trial),
        **{f"tests/{path}" if path.startswith("test_") else f"{home}/{path}": text for path, text in texts.items()},
    }


def _texts(folder: Traversable, above: str) -> list[tuple[str, str]]:
    """The templates in a folder and those below it, by their paths."""
    texts = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            texts += _texts(entry, f"{above}{entry.name}/")
        elif entry.name.endswith((".py", ".md")):
            texts.append((above + entry.name, entry.read_text("utf-8")))
    return texts


def _renamed(text: str, kind: str, name: str) -> str:
    """A template with its own package, classes and name."""
    package = repository_files.package_of(name)
    text = text.replace(f"{__package__}.{kind}_plugin", package).replace("skyband_mine", package)
    for word in COPIED[kind].classes:
        text = re.sub(rf"\bMine{word}\b", class_name(name, word), text)
    return re.sub(r"\bmine\b", name, text)
