"""Where the table of a job is: a path, or a name in a catalogue."""

from skyband_lakes.iceberg.catalog import catalog_problems

from skyband.errors import Problem
from skyband.job.model import Sink, Source, local_path, option_text
from skyband.tables import FORMATS, table_problem

ICEBERG = "iceberg"


def place_key(table: Source | Sink) -> str:
    """The key that says where a job's table is."""
    return "table" if table.format == ICEBERG else "path"


def place_of(table: Source | Sink) -> str:
    """What that key says."""
    return str(getattr(table, place_key(table)))


def needs_connector(table: Source | Sink) -> bool:
    """Whether the keys are those of a table that only Spark's connector reaches."""
    return table.format == ICEBERG and table.table is None


def arguments(table: Source | Sink) -> tuple[str, dict[str, str]]:
    """What `open_sink` and `open_table` take besides the format."""
    if table.format == ICEBERG:
        return place_of(table), {name: option_text(value) for name, value in table.catalog.items()}
    path = local_path(table.path or "")
    options = {name: option_text(value) for name, value in table.options.items()}
    return str(path) if path is not None else str(table.path), options


def location_problems(table: Source | Sink, on_spark: bool) -> list[Problem]:
    """What is wrong with the keys that say where a table is, and with `table` and `catalog` of what has none."""
    if table.format != ICEBERG:
        given = [name for name in ("table", "catalog") if getattr(table, name)]
        problems = [Problem(name, f"is for iceberg: drop it (got format {table.format!r})") for name in given]
        if table.format in FORMATS and table.path is None:
            problems.append(Problem("path", f"is required for {table.format}: where the table is"))
        return problems
    if table.path is not None and (table.table is not None or table.catalog):
        return [Problem("path", "is for Spark's connector, and table and catalog for pyiceberg: drop path, or these")]
    if table.path is not None and on_spark:
        return []
    problems = []
    if table.table is None:
        problems.append(Problem("table", "is required for iceberg: its name in the catalogue, such as db.answers"))
    if not table.catalog:
        said = 'is required for iceberg, such as { uri = "sqlite:///lake.db", warehouse = "lake/" }'
        problems.append(Problem("catalog", said))
    else:
        problems += catalog_problems(table.catalog, writes=isinstance(table, Sink))
    if table.options:
        problems.append(Problem("options", "play no part beside catalog: its properties go there"))
    lacking = table_problem(ICEBERG) if on_spark else None  # the local engine says so of every format
    return problems if lacking is None else [*problems, Problem("format", f"{ICEBERG} {lacking}")]
