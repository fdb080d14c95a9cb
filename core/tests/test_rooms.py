"""The rooms of core as CONTRIBUTING lists them, ground floor first: every import leads to a floor below."""

import ast
import re
from pathlib import Path

import skyband

HOUSE = Path(skyband.__file__).parent
CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
ROOM = re.compile(r"^\| `([a-z_]+)/?` \|", re.MULTILINE)


def rooms() -> list[str]:
    """The rooms in the order of the page, a module or a folder each."""
    table = CONTRIBUTING.read_text("utf-8").partition("The rooms of `core/src/skyband`")[2].partition("\n\n##")[0]
    return ROOM.findall(table)


def room_of(module: str) -> str:
    """The room a module of skyband is in: `skyband_incomplete.top_k.query` is in `queries`."""
    return [*module.split("."), "__init__"][1]


def imports(path: Path) -> set[str]:
    """The modules of skyband that a file names in any import, wherever it stands in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "skyband":
            found |= {f"skyband.{name.name}" for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.startswith("skyband.")}


def test_the_page_names_every_room():
    there = {path.stem for path in HOUSE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert sorted(rooms()) == sorted(there - {"__init__", "__main__"})


def test_no_import_runs_upwards():
    floors = {room: floor for floor, room in enumerate(rooms())}
    upwards = []
    for path in sorted(HOUSE.rglob("*.py")):
        here = path.relative_to(HOUSE)
        room = here.parts[0].removesuffix(".py")
        if room not in floors:  # skyband itself, which imports a public name when it is first used
            continue
        for module in sorted(imports(path)):
            floor = floors.get(room_of(module))
            if floor is not None and floor > floors[room]:
                upwards.append(f"{here} imports {module}")
    assert upwards == []
