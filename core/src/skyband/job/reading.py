"""From a TOML file and `--set` to a Job, with everything that is wrong with it said at once."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from skyband.config.parameters import build, parameters_of
from skyband.errors import ConfigError, PluginError, Problem, closest, suggest
from skyband.job import checking
from skyband.job.engine import Engine
from skyband.job.engines import engine_named
from skyband.job.model import Job, Sink, Source, absolute, placed
from skyband.job.names_alike import tells_case
from skyband.job.spark_ddl import ZONE_SETTING

if TYPE_CHECKING:
    from skyband.queries.query import Query

T = TypeVar("T")

TABLES = {
    "source": "where the rows come from",
    "query": "what is asked",
    "backends": "how it is answered",
    "sink": "where the answers go",
    "spark": "settings of Spark",
}
KEYS = ("name", "shards", *TABLES)


class JobError(ConfigError):
    """A job that cannot be run. Each line of its text names the file, or `--set` where the fault was typed there."""

    def __init__(self, place: str, *problems: Problem, typed: Iterable[str] = ()) -> None:
        super().__init__(*problems)
        self.place = place
        self.typed = tuple(typed)

    def __str__(self) -> str:
        return "\n".join(f"{self._place(problem)}: {problem}" for problem in self.problems)

    def __reduce__(self) -> Any:
        return _job_error, (self.place, self.problems, self.typed)

    def _place(self, problem: Problem) -> str:
        field = f"{problem.field}.".replace("[", ".[")
        return "--set" if any(field.startswith(f"{key}.") for key in self.typed) else self.place


MOST_BYTES = 10_000_000
"""Of a job file."""


def read_job(path: str | Path, sets: Iterable[str] = (), engine: str = "spark") -> Job:
    """The job in a TOML file, changed by `sets` ("query.k=5"), to be run on `engine`.

    Where the source is on this machine its columns are looked at too, without Spark or Java.
    Raises JobError with every problem at once.
    """
    place, typed = str(path), {}
    try:
        typed = dict(map(assignment, sets))
        tables = _parsed(Path(path))
        for key, value in typed.items():
            _put(tables, key, value)
        return _job(tables, Path(path), engine_named(engine))
    except JobError:
        raise
    except ConfigError as error:
        raise JobError(place, *error.problems, typed=typed) from error


def read_sink(path: str | Path, sets: Iterable[str] = ()) -> "tuple[str, Query, Sink]":
    """The name, query and sink of a job, which need not be able to run any more: nothing else of it is looked at.

    Raises JobError with every problem at once.
    """
    typed: dict[str, Any] = {}
    try:
        typed = dict(map(assignment, sets))
        tables = _parsed(Path(path))
        for key, value in typed.items():
            _put(tables, key, value)
        tabled = {key: tables.get(key, {}) for key in ("sink", "query")}
        wrong = [
            Problem(key, f"must be a table, [{key}]") for key, held in tabled.items() if not isinstance(held, dict)
        ]
        if wrong:
            raise ConfigError(*wrong)
        problems: list[Problem] = []
        sink = _tried(problems, "sink", lambda: _table(tables, "sink", Sink))
        query = _tried(problems, "query", lambda: _query(tables, Path(path).parent))
        if problems or sink is None or query is None:
            raise ConfigError(*problems)
        return str(tables.get("name", Path(path).stem)), query, placed(sink, Path(path).parent)
    except JobError:
        raise
    except ConfigError as error:
        raise JobError(str(path), *error.problems, typed=typed) from error


def assignment(text: str) -> tuple[str, Any]:
    """`KEY=VALUE`, the value in TOML, or as plain text where it is not."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise JobError("--set", Problem("", f"must be KEY=VALUE, such as query.k=10 (got {text!r})"))
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return key.strip(), value.strip()


def _parsed(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:  # which may be a pipe, or never end
            held = file.read(MOST_BYTES + 1)
        if len(held) > MOST_BYTES:
            raise ConfigError(Problem("", f"is no job: it is larger than {MOST_BYTES:,} bytes"))
        text = held.decode("utf-8-sig").replace("\r\n", "\n")
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(Problem("", _misspelt(text, str(error)))) from error
    except RecursionError as error:
        raise ConfigError(Problem("", "cannot be read: its brackets are nested too deeply")) from error
    except FileNotFoundError as error:
        raise ConfigError(Problem("", "does not exist")) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(Problem("", f"cannot be read: {error}")) from error


def _misspelt(text: str, message: str) -> str:
    """What is not TOML, with the line it stands in; the commonest fault is text without quotes."""
    what, _, where = message.rstrip(")").partition(" (at ")
    said = f"{where or 'the file'}: {what[0].lower()}{what[1:]}"
    number = re.match(r"line (\d+)", where)
    if number is None:
        return said
    line = text.splitlines()[int(number[1]) - 1].strip()
    quotes = '; text needs quotes: "…"' if what == "Invalid value" else ""
    return f"{said}: {line}{quotes}"


def _put(tables: dict[str, Any], key: str, value: Any) -> None:
    *outer, last = key.split(".")
    table = tables
    for number, name in enumerate(outer):
        held = table.get(name, {})
        if outer[:number] == ["backends"] and isinstance(held, str):
            held = {"name": held}  # sketch = "k-skb" is short for a table, so a parameter can be put into it
        if not isinstance(held, dict):
            raise ConfigError(Problem(key, f"{'.'.join(outer[: number + 1])} is {held!r}, not a table"))
        table[name] = dict(held)
        table = table[name]
    table[last] = value


def _job(tables: Mapping[str, Any], path: Path, engine: Engine) -> Job:
    unknown = [key for key in tables if key not in KEYS]
    problems = [Problem(key, _unknown(key)) for key in unknown]
    misspelt = {closest(key, KEYS) for key in unknown} - set(tables)
    problems += [
        Problem(key, f"must be a table, [{key}] (got {tables[key]!r})")
        for key in TABLES
        if key in tables and not isinstance(tables[key], Mapping)
    ]
    if problems and any(problem.field in TABLES for problem in problems):
        raise ConfigError(*problems)
    wrong: list[Problem] = []
    source = _tried(wrong, "source", lambda: _table(tables, "source", Source))
    sink = _tried(wrong, "sink", lambda: _table(tables, "sink", Sink))
    query = _tried(wrong, "query", lambda: _query(tables, path.parent))
    problems += [problem for problem in wrong if problem.field not in misspelt]
    spark = _spark(tables.get("spark", {}))
    backends = _backends(tables.get("backends", {}), spark)
    shards, name = tables.get("shards"), tables.get("name", path.stem)
    if not isinstance(name, str) or not name:
        problems.append(Problem("name", f"must be text (got {name!r})"))
    folder = path.parent
    source = placed(source, folder) if source else None
    sink = placed(sink, folder) if sink else None
    zone = spark.get(ZONE_SETTING)
    schema, found = checking.everything(tables, source, query, backends, sink, engine, zone, path, tells_case(spark))
    told = {problem.field for problem in problems}
    problems += [problem for problem in found if problem.field not in told]  # what follows from a wrong value
    if problems or source is None or query is None or sink is None:
        raise ConfigError(*problems)
    return Job(name, source, query, backends, sink, spark, shards, schema)


def _table(tables: Mapping[str, Any], name: str, cls: type[T]) -> T:
    if name not in tables:
        raise ConfigError(Problem("", f"is required: a table [{name}] that says {TABLES[name]}"))
    elsewhere = {"source": Sink, "sink": Source}[name]
    theirs = {parameter.name for parameter in parameters_of(elsewhere)}
    mine = {parameter.name for parameter in parameters_of(cls)}
    misplaced = [key for key in tables[name] if key in theirs - mine]
    values = {key: value for key, value in tables[name].items() if key not in misplaced}
    problems = [Problem(key, f"belongs into [{'sink' if name == 'source' else 'source'}]") for key in misplaced]
    made = _tried(problems, "", lambda: build(cls, values))
    if problems or made is None:
        raise ConfigError(*problems)
    return made


def _query(tables: Mapping[str, Any], folder: Path) -> Any:
    from skyband.queries import load_query, make_query

    if "query" not in tables:
        raise ConfigError(Problem("", f"is required: a table [query] that says {TABLES['query']}"))
    keys = dict(tables["query"])
    if "kind" in keys:
        files = {
            key: keys[key]
            for key in load_query(keys["kind"], keys.get("distribution")).files
            if isinstance(keys.get(key), str)
        }
        keys |= {key: absolute(path, folder) for key, path in files.items()}
    return make_query(keys)


def _tried(problems: list[Problem], place: str, make: Callable[[], T]) -> T | None:
    """What `make` gives; where it cannot, its problems are added to the list."""
    try:
        return make()
    except ConfigError as error:
        problems.extend(problem.within(place) if place else problem for problem in error.problems)
    except PluginError as error:
        problems.append(Problem(place, str(error)))
    return None


def _unknown(key: str) -> str:
    for name, cls in (("source", Source), ("sink", Sink)):
        if key in {parameter.name for parameter in parameters_of(cls)}:
            return f"belongs into a table such as [{name}]"
    return f"unknown; {suggest(key, KEYS)}"


def _spark(table: Mapping[str, Any], prefix: str = "spark") -> dict[str, str]:
    """Settings by full name: `sql.shuffle.partitions = 4` and `"spark.sql.shuffle.partitions" = 4` are the same."""
    settings: dict[str, str] = {}
    for key, value in table.items():
        written_out = prefix == "spark" and (key == "spark" or key.startswith("spark."))
        name = key if written_out else f"{prefix}.{key}"
        if isinstance(value, Mapping):
            settings.update(_spark(value, name))
        else:
            settings[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def _backends(table: Mapping[str, Any], spark: Mapping[str, str]) -> dict[str, Any]:
    prefix = "spark.skyband.backends."
    settings = {key.removeprefix(prefix): value for key, value in spark.items() if key.startswith(prefix)}
    return {**settings, **table}


def _job_error(place: str, problems: tuple[Problem, ...], typed: tuple[str, ...]) -> JobError:
    return JobError(place, *problems, typed=typed)
