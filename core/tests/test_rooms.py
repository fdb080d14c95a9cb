"""The rooms of core as CONTRIBUTING lists them, ground floor first: every import leads to a lower floor."""

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
    """The room a module of skyband is in: `skyband.queries.query` is in `queries`."""
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


SOURCES = [HOUSE.parent, *sorted(CONTRIBUTING.parent.glob("plugins/*/src")), CONTRIBUTING.parent / "specs" / "src"]


def module_files() -> dict[str, Path]:
    """Every module of core, specs and the plugins, by its dotted name."""
    names = {}
    for source in SOURCES:
        for path in source.rglob("*.py"):
            parts = path.relative_to(source).with_suffix("").parts
            names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def arrows(names: dict[str, Path]) -> dict[str, set[str]]:
    """Which modules each imports, inside functions and for types too."""
    found = {}
    for name, path in names.items():
        targets = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                targets |= {
                    inner if (inner := f"{node.module}.{alias.name}") in names else node.module for alias in node.names
                }
        found[name] = (targets & names.keys()) - {name}
    return found


def test_no_circle_of_files():
    left = arrows(module_files())
    assert len(left) > 400, "the modules were found"
    while leaves := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in leaves}
    assert sorted(left) == [], "these import each other, or what does"


ENGINES_AND_JOBS = {
    "skyband": set(),
    "skyband_jit": set(),
    "skyband_expressions": {"skyband"},
    "skyband_jobs": {"skyband", "skyband_expressions"},
    "skyband_spark": {"skyband", "skyband_expressions", "skyband_jobs"},
    "skyband_serve": {"skyband", "skyband_jobs", "skyband_specs"},
    # Pages and checks of what jobs and Spark bring, imported where they are installed.
    "skyband_specs": {"skyband", "skyband_expressions", "skyband_jobs", "skyband_spark"},
}
"""The distributions that are not families, with those that each may import."""


def test_core_imports_no_guest_and_engines_and_jobs_no_family():
    upwards = [
        f"{name} imports {target}"
        for name, targets in arrows(module_files()).items()
        for target in sorted(targets)
        if (home := name.partition(".")[0]) in ENGINES_AND_JOBS
        and target.partition(".")[0] not in {home, *ENGINES_AND_JOBS[home]}
    ]
    assert upwards == []


FLOORS = {
    "skyband_jobs": "__init__ kernels formats tables files job metrics running local programs first_job commands hooks",
    "skyband_spark": "__init__ spark_session warming frames backend_limits sink_log_check states errors catalog_table "
    "reading dataframe_writer program job_session session_check savepoints table_sink_check rows_aside side_outputs "
    "run engine commands hooks",
}
"""The modules and folders of a distribution, ground floor first: each imports only from those before it."""


def test_jobs_and_spark_have_floors():
    upwards = set()
    for name, targets in arrows(module_files()).items():
        home = name.partition(".")[0]
        if home in FLOORS:
            floors = FLOORS[home].split()
            for target in targets:
                if target.partition(".")[0] == home:
                    room, below = ([*module.split("."), "__init__"][1] for module in (name, target))
                    if floors.index(below) > floors.index(room):
                        upwards.add(f"{name} imports {target}")
    assert upwards == set()


def test_no_family_imports_spark():
    """Only the demo of skyband-distinct may, which runs on it."""
    families = [
        name
        for name, targets in arrows(module_files()).items()
        if name.partition(".")[0] not in ENGINES_AND_JOBS and any(each.startswith("skyband_spark") for each in targets)
    ]
    assert families == ["skyband_distinct.demo.command"]


def test_no_error_is_raised_from_itself():
    """What follows causes, as loggers do, follows such a circle for ever. What may give back the error it is given is
    called on a line of its own, and compared."""
    circles = [
        f"{name}, line {node.lineno}"
        for name, path in module_files().items()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.cause, ast.Name) and may_be(node.exc, node.cause.id)
    ]
    assert circles == []


def may_be(raised: ast.expr | None, cause: str) -> bool:
    """Whether an expression is the cause, or a method with another's name to give it back is called with it alone."""
    if isinstance(raised, ast.Name):
        return raised.id == cause
    if not isinstance(raised, ast.Call) or not isinstance(raised.func, ast.Attribute):
        return False
    return [ast.unparse(argument) for argument in raised.args] == [cause]


def test_core_has_at_most_22000_lines():
    """What is not the framework is a guest: formats, engines, jobs, families."""
    assert sum(len(path.read_text("utf-8").splitlines()) for path in HOUSE.rglob("*.py")) <= 22_000
