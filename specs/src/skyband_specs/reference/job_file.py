"""The page of the job file: every table and key, read from the classes that check them."""

from collections.abc import Iterable

from skyband.config.parameters import parameters_of
from skyband.queries import load_query
from skyband.registry.info import FILE_FORMATS
from skyband_expressions.functions import FUNCTIONS, SYNTAX
from skyband_expressions.sql_parser import MOST_DEPTH, MOST_TERMS
from skyband_jobs.files.source_files import READABLE
from skyband_jobs.files.text_files import OPTIONS
from skyband_jobs.formats import names_of_formats
from skyband_jobs.local.engine import WRITABLE
from skyband_jobs.programs.engines import engine_named, engine_names
from skyband_jobs.programs.parsing import TABLES
from skyband_jobs.tables.model import Sink, Source
from skyband_spark.job_session import COMPILED_ONCE, LOCAL, SMALL
from skyband_spark.spark_session.session import FEWER_FORKS, GROUPED_SHARDS, SETTINGS

from skyband_specs.reference.markdown import code, docstring, fenced, line, page, parameters, section, table
from skyband_specs.reference.usable import usable_queries, usable_roles

STREAM = """
name = "clients"                   # what Spark calls it; the file's name unless given
shards = 1                         # operators that share the work

[source]
format = "parquet"
path = "requests/"                 # relative to this file
stream = true
options = { maxFilesPerTrigger = 1 }

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["10 minutes", "1 hour"]
every = "1 minute"
delay = "30 seconds"

[backends]
sketch = { name = "pcsa-ml", epsilon = 0.02 }

[sink]
format = "parquet"
path = "counts/"
checkpoint = "checkpoint/"
trigger = "available-now"

[spark]
sql.shuffle.partitions = 1         # with or without "spark." before it
"""


def job_page() -> str:
    """The reference of the job file."""
    return page(
        "The job file",
        "One TOML file: where rows come from, what is asked, how it is answered and where answers go. "
        "`skyband check requests.csv > job.toml` creates a first one for your own data, `skyband check job.toml` "
        "reports everything wrong with it, `skyband run job.toml` runs it. For one run, "
        f"{code('--set KEY=VALUE')} changes any key, {code('--set -KEY')} removes it, and options may have names "
        f"with dots: {code('--set source.options.kafka.bootstrap.servers=broker:9092')}. The pages of the queries have "
        "small jobs to copy.",
        fenced("toml", STREAM),
        section("Tables", _tables()),
        section("At the top", _top()),
        section("`[source]`", parameters(parameters_of(Source))),
        section("`[query]`", _KIND, _kinds()),
        section("`[backends]`", _backends()),
        section("`[sink]`", parameters(parameters_of(Sink))),
        section("`[spark]`", _spark()),
        *_tables_of_engines(),
        section("From the environment", _ENVIRONMENT),
        section("Expressions", _expressions()),
        section("Engines", f"`skyband run --engine` {_or(map(code, engine_names()))}.", _engines()),
    )


def _tables() -> str:
    says = {**TABLES, **{name: _says(cls) for _, name, cls in own_tables()}}
    return table(["table", "says"], [[code(f"[{name}]"), text] for name, text in says.items()])


def own_tables() -> list[tuple[str, str, type]]:
    """The tables that engines add to a job: the engine, the table's name and its class."""
    return [(engine, name, cls) for engine in engine_names() for name, cls in engine_named(engine).own_tables.items()]


def _says(cls: type) -> str:
    """The first line of a class's docstring, as the words after "a table that says"."""
    first = docstring(cls).partition("\n")[0].removesuffix(".")
    return line(first[:1].lower() + first[1:])


def _tables_of_engines() -> list[str]:
    return [
        section(f"`[{name}]`", f"Of the engine {code(engine)}; the others ignore it.", parameters(parameters_of(cls)))
        for engine, name, cls in own_tables()
    ]


_KIND = (
    "`kind`, and the keys of that kind; if two installed distributions bring a kind of this name, `distribution` "
    "chooses one:"
)
_ENVIRONMENT = (
    "`${NAME}` in any text of a job is replaced by that environment variable, so that a password need not be in a "
    "file; `${NAME:-default}` has a default, and a variable that is not set is an error of `skyband check`. `$${NAME}` "
    "is the text `${NAME}`. Values in `options`, `catalog` and `[spark]` that come from the environment are hidden "
    "wherever something is shown or written, as are values of keys such as `password` and passwords in URLs. Elsewhere "
    "they are shown as if they were in the file: a path, a column or a number of the query is kept in the checkpoint, "
    "which must know it."
)


def _top() -> str:
    shards = (
        f"operators that share the work: {GROUPED_SHARDS} with `by`, else 1; a checkpoint is bound to their number. "
        "With `by` each group is on one shard. Without, each item or object is, and their counts and tops are "
        "merged; rows that are compared in pairs go to several, so that every two meet on one. Windows in rows need "
        "one order of all rows, so they need one shard"
    )
    metrics = (
        "where Prometheus finds the metrics of a run: a loopback address, `127.0.0.1:9464`, or a file "
        "for node_exporter, `skyband.prom`; needs `skyband[metrics]`; more in the guide *Watching a stream*"
    )
    return table(["name", "type", "meaning"], [
        ["`name`", "str", "the name of the job in Spark; default: the file's name without `.toml`"],
        ["`shards`", "int", shards],
        ["`metrics`", "str", metrics],
    ])  # fmt: skip


def _kinds() -> str:
    return table(["kind", "asks", "roles"], [
        [f"[{kind}](queries/{kind}.md)", info.summary, ", ".join(load_query(kind).roles)]
        for kind, info in usable_queries().items()
    ])  # fmt: skip


def _backends() -> str:
    rows = [
        ['`sketch = "k-skb"`', "the backend of that name, with default parameters"],
        ['`sketch = { name = "k-skb", epsilon = 0.05 }`', "with parameters; those set by the query are not repeated"],
        [
            '`sketch = { error = 0.02, memory = "200 MB" }`',
            "chosen among those installed, by either limit or both; more in the guide *Which backend should I use*",
        ],
        ['`sketch = "auto"`', 'the same as `{ memory = "256 MB" }`: exact if that fits, otherwise the default'],
        ['`distribution = "…"`', "in such a table: the distribution, if two bring a backend of this name"],
    ]
    roles = ", ".join(f"[{name}](roles/{name}.md)" for name in usable_roles())
    return (
        f"One line per role ({roles}), each optional. `--set backends.ROLE=…` comes first, then this table, then "
        f"`spark.skyband.backends.ROLE` of Spark, then the role's default.\n\n{table(['written', 'means'], rows)}"
    )


def _spark() -> str:
    own = {"spark.sql.shuffle.partitions": "the job's shards"}
    rows = [[code(name), own.get(name) or code(value)] for name, value in SETTINGS.items()]
    rows += [[code(name), f"{code(value)} if Spark runs on this machine only"] for name, value in LOCAL.items()]
    here = "if Spark runs, and the stream's files are, on this machine only"
    rows += [[code(name), f"{code(value)} {here}"] for name, value in FEWER_FORKS.items()]
    brief = f"{here}, if the job ends with its files and these have at most {SMALL >> 20} MB"
    rows += [[code(name), f"{code(value)} {brief}"] for name, value in COMPILED_ONCE.items()]
    return (
        f"Settings of the session. The defaults are:\n\n{table(['setting', 'value'], rows)}\n\n"
        "On Spark a job file is code: settings may name jars and commands that Spark runs, `where` and `select` may "
        "call any function, a source or sink may be any class. Run only jobs of people whose programs you would "
        "run. The local engine ignores `[spark]`, and calls nothing in `where` and `select`."
    )


def _expressions() -> str:
    return (
        "In `where`, in `select` and in conditions of queries, the local engine knows this part of Spark's SQL; a "
        "test compares it with Spark on random expressions over nulls, NaN, -0.0, overflow and times from the year 1 "
        "to 9999; Spark itself takes any SQL. As in Spark's ANSI mode, which is its default, a number that does not "
        "fit, a division by zero and text that is not a number are errors that name the row; `TRY_CAST` returns null. "
        "Days and hours are in UTC, weeks start on Monday.\n\n"
        f"As in SQL: {', '.join(SYNTAX)}.\n\nFunctions: {', '.join(map(code, sorted(FUNCTIONS)))}.\n\n"
        "An entry of `select` is an expression with `AS name`, a column, or `*` for all columns; one of them may "
        "be `explode(list) AS name`, a row for each element. Patterns and formats, positions and names of fields are "
        "literals. Refused: regular expressions that Java and RE2 read differently, division of decimals (cast "
        f"one to double), more than {MOST_DEPTH} nested expressions and more than {MOST_TERMS:,} terms."
    )


def _or(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _engines() -> str:
    honoured = "; ".join(f"{name}: {', '.join(options) or 'none'}" for name, options in OPTIONS.items())
    follows = ", ".join((*READABLE, *names_of_formats("follows")))
    return table(["", "spark", "local", "serve"], [
        ["reads", "any source of Spark", ", ".join((*READABLE, *names_of_formats("reads"))), f"streams of {follows}"],
        ["writes", "any sink of Spark", ", ".join((*WRITABLE, *names_of_formats("writes"))), "as local"],
        ["needs `path`", ", ".join(FILE_FORMATS), "the same", "the same"],
        ["other keys", "of plugins' formats, see their pages", "the same", "the same"],
        ["`options`", "passed on", honoured, "as local"],
        ["`where`, `select`", "any SQL", "the [expressions](#expressions) above; the rest is refused", "as local"],
        ["`checkpoint`, `trigger`", "see above", "ignored", "see above"],
    ])  # fmt: skip
