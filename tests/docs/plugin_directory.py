"""The directory of plugins: its entries, what is wrong with them, and the table that shows them."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skyband.registry.info import GUARANTEES
from skyband_specs.reference.markdown import code, table

REQUIRED = {"distribution": str, "home": str, "licence": str, "specs": str}
BRINGS = {"backends": dict, "queries": list, "roles": list}


def entries(path: Path) -> list[dict[str, Any]]:
    """The entries as written. Raises ValueError with everything that is wrong with them."""
    listed = tomllib.loads(path.read_text("utf-8"))["plugin"]
    wrong = [f"{one.get('distribution', '?')}: {problem}" for one in listed for problem in problems(one, path)]
    names = [one.get("distribution") for one in listed]
    wrong += [f"{name}: is listed twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if wrong:
        raise ValueError("\n".join(wrong))
    return listed


def problems(entry: Mapping[str, Any], path: Path) -> list[str]:
    """What is wrong with an entry, each with its field."""
    known = {**REQUIRED, **BRINGS}
    found = [f"{name}: unknown; known: {', '.join(known)}" for name in entry if name not in known]
    found += [f"{name}: is required" for name in REQUIRED if name not in entry]
    found += [
        f"{name}: must be a {known[name].__name__} (got {value!r})"
        for name, value in entry.items()
        if name in known and not isinstance(value, known[name])
    ]
    if found:
        return found
    if not re.fullmatch(r"\d+\.\d+", entry["specs"]):
        found.append(f"specs: must be the X.Y of skyband-specs (got {entry['specs']!r})")
    if not entry["home"].startswith("https://") and not (path.parents[3] / entry["home"]).is_dir():
        found.append(f"home: must be https://… or a folder of this repository (got {entry['home']!r})")
    if not any(entry.get(name) for name in BRINGS):
        found.append("brings no backends, queries or roles")
    for key, guarantee in entry.get("backends", {}).items():
        if guarantee not in GUARANTEES or not re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", key):
            found.append(
                f'backends: must be "role/name" = one of {", ".join(GUARANTEES)} (got {key!r} = {guarantee!r})'
            )
    return found


def directory_table(listed: list[dict[str, Any]]) -> str:
    """A row for all that a distribution brings to one role with one guarantee, and one for each query and role."""
    rows = []
    for entry in listed:
        facts = [entry["licence"], f"skyband-specs {entry['specs']}"]
        by_role: dict[tuple[str, str], list[str]] = {}
        for key, guarantee in entry.get("backends", {}).items():
            role, _, name = key.partition("/")
            by_role.setdefault((role, guarantee), []).append(name)
        rows += [
            [_name(entry), f"backends of {code(role)}", ", ".join(map(code, names)), guarantee, *facts]
            for (role, guarantee), names in by_role.items()
        ]
        rows += [
            [_name(entry), what, ", ".join(map(code, entry[field])), "", *facts]
            for field, what in (("queries", "queries"), ("roles", "roles"))
            if entry.get(field)
        ]
    return table(["distribution", "brings", "names", "guarantee", "licence", "verified with"], rows)


def _name(entry: Mapping[str, Any]) -> str:
    name, home = entry["distribution"], entry["home"]
    return f"[{name}]({home})" if home.startswith("https://") else name
