"""Writes which of Skyband's distributions brings which name, as the hooks of its plugins say it.

python tests/release/install_hints.py      into core/src/skyband/registry/homes.py, where core cannot ask them
"""

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

import click
import skyband
from skyband.registry import installed
from skyband.states.functions import questions

HOMES = Path(skyband.__file__).parent / "registry" / "homes.py"
TEXT = '''"""Which of Skyband's distributions brings which name: written by `python tests/release/install_hints.py`."""

_NAMES = {homes}
HOMES = {{name: home for home, names in _NAMES.items() for name in names.split()}}

QUESTIONS = {questions}
"""Names of questions to states in SQL, which always knows them."""
'''


def text() -> str:
    """The module, as the installed plugins have it."""
    homes = {name: home for name, home in _brought() if home.startswith("skyband-")}
    ours = [one for one in questions().values() if _of(one) in homes.values()]
    names = sorted(name for one in ours for name in (one.name, *one.sql_names))
    lines = []
    for home in sorted(set(homes.values())):
        own = wrap(" ".join(name for name in sorted(homes) if homes[name] == home), 105, break_on_hyphens=False)
        lines += [f'    "{home}": """', *(f"        {line}" for line in own), '    """,']
    return TEXT.format(
        homes="\n".join(["{", *lines, "}"]), questions="\n".join(["(", *(f'    "{one}",' for one in names), ")"])
    )


def _brought() -> Iterator[tuple[str, str]]:
    registry = installed()
    for entry in registry.listing():
        yield entry.info.key, entry.distribution
    for entry in (*registry.role_listing, *registry.queries.listing):
        yield entry.info.key.rpartition("/")[2], entry.distribution
    for entry in (*registry.formats.listing, *registry.engines.listing):
        yield entry.info.key, entry.distribution
    for plugin in registry.plugins:
        commands = click.Group()
        if plugin.manager is not None:
            plugin.manager.hook.skyband_commands(group=commands)
        yield from ((name, plugin.distribution) for name in commands.commands)
    for question in questions().values():
        for name in (question.name, *question.sql_names, *question.exports):
            yield name, _of(question)
        for name in question.names():
            name = question.name if name == "of" else name  # of distance: --distance ks
            yield f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}", _of(question)


def _of(question: type) -> str:
    return question.__module__.partition(".")[0].replace("_", "-")


if __name__ == "__main__":
    HOMES.write_text(text(), "utf-8")
