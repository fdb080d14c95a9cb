"""The page of the job file: every table and key, read from the classes that check them."""

from skyband.config.parameters import parameters_of
from skyband.queries import load_query
from skyband.registry.info import FILE_FORMATS
from skyband_expressions.functions import FUNCTIONS, SYNTAX
from skyband_expressions.sql_parser import MOST_DEPTH, MOST_TERMS
from skyband_jobs.files.source_files import READABLE
from skyband_jobs.files.text_files import OPTIONS
from skyband_jobs.formats import names_of_formats
from skyband_jobs.job.engines import engine_names
from skyband_jobs.job.model import Sink, Source
from skyband_jobs.job.parsing import TABLES
from skyband_jobs.local.engine import WRITABLE
from skyband_spark.job_session import COMPILED_ONCE, LOCAL, SMALL
from skyband_spark.program import FEWER_FORKS, GROUPED_SHARDS, SETTINGS

from skyband_specs.reference.markdown import code, fenced, page, parameters, section, table
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
        "`skyband check requests.csv > job.toml` makes a first one over data of your own, `skyband check job.toml` "
        "says everything that is wrong with one, `skyband run job.toml` runs it. For a run "
        f"{code('--set KEY=VALUE')} changes any key, {code('--set -KEY')} takes it out, and options may have names "
        f"with dots: {code('--set source.options.kafka.bootstrap.servers=broker:9092')}. The pages of the queries have "
        "small jobs to copy.",
        fenced("toml", STREAM),
        section("Tables", table(["table", "says"], [[code(f"[{name}]"), text] for name, text in TABLES.items()])),
        section("At the top", _top()),
        section("`[source]`", parameters(parameters_of(Source))),
        section("`[query]`", _KIND, _kinds()),
        section("`[backends]`", _backends()),
        section("`[sink]`", parameters(parameters_of(Sink))),
        section("`[spark]`", _spark()),
        section("From the environment", _ENVIRONMENT),
        section("Expressions", _expressions()),
        section("Engines", f"`skyband run --engine` {' or '.join(map(code, engine_names()))}.", _engines()),
    )


_KIND = (
    "`kind`, and the keys of that kind; where two installed distributions bring one of this name, `distribution` says "
    "whose:"
)
_ENVIRONMENT = (
    "`${NAME}` in any text of a job is what the environment has under that name, so that a password need not "
    "stand in a file; `${NAME:-default}` has a default, and a name that is not set is an error of `skyband "
    "check`. `$${NAME}` is the text `${NAME}`. What comes so into `options`, `catalog` and `[spark]` is hidden "
    "wherever something is shown or written down, as is what stands under a key such as `password` or in the "
    "password of a URL. Elsewhere it is shown as if it stood in the file: a path, a column or a number of the "
    "query is kept in the checkpoint, which must know it."
)


def _top() -> str:
    shards = (
        f"operators that share the work: {GROUPED_SHARDS} with `by`, else 1; a checkpoint is bound to their number. "
        "With `by` each group is on one shard. Without, each item or object is, and their counts and tops are put "
        "together; rows that are looked at in pairs go to several, so that every two meet on one. Windows in rows need "
        "one order of all rows, and so one shard"
    )
    metrics = (
        "where Prometheus finds the figures of a run: an address of this machine alone, `127.0.0.1:9464`, or a file "
        "for node_exporter, `skyband.prom`; needs `skyband[metrics]`; more in the guide *Watching a stream*"
    )
    return table(["name", "type", "meaning"], [
        ["`name`", "str", "what Spark calls the job; the file's name without `.toml` unless given"],
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
        ['`sketch = "k-skb"`', "the backend of that name, its parameters at their defaults"],
        ['`sketch = { name = "k-skb", epsilon = 0.05 }`', "with parameters; those the query gives are not repeated"],
        ['`distribution = "…"`', "in such a table: whose, where two distributions bring a backend of one name"],
    ]
    roles = ", ".join(f"[{name}](roles/{name}.md)" for name in usable_roles())
    return (
        f"A line a role ({roles}), each optional. `--set backends.ROLE=…` comes first, then this table, then the Spark "
        f"setting `spark.skyband.backends.ROLE`, then the role's default.\n\n{table(['written', 'means'], rows)}"
    )


def _spark() -> str:
    own = {"spark.sql.shuffle.partitions": "the job's shards"}
    rows = [[code(name), own.get(name) or code(value)] for name, value in SETTINGS.items()]
    rows += [[code(name), f"{code(value)} where Spark runs on this machine only"] for name, value in LOCAL.items()]
    here = "where Spark runs, and the stream's files are, on this machine only"
    rows += [[code(name), f"{code(value)} {here}"] for name, value in FEWER_FORKS.items()]
    brief = f"{here}, if the job ends with its files and these have at most {SMALL >> 20} MB"
    rows += [[code(name), f"{code(value)} {brief}"] for name, value in COMPILED_ONCE.items()]
    return (
        f"Settings of the session. A job that sets none of them gets:\n\n{table(['setting', 'value'], rows)}\n\n"
        "On Spark a job file is code: settings may name jars and commands that Spark runs, `where` and `select` may "
        "call any function, a source or sink may be any class. Run only the jobs of people whose programs you would "
        "run. The local engine takes no `[spark]`, and calls nothing in `where` and `select`."
    )


def _expressions() -> str:
    return (
        "In `where`, in `select` and in conditions of queries, the local engine knows this part of Spark's SQL, and a "
        "test holds it equal to Spark on random expressions over nulls, NaN, -0.0, overflow and times from the year 1 "
        "to 9999; Spark itself takes any SQL. As in Spark's ANSI mode, which is its default, a number that does not "
        "fit, a division by zero and text that is no number are errors, which name the row; `TRY_CAST` gives null. "
        "Days and hours are UTC's, weeks begin on Mondays.\n\n"
        f"Written as in SQL: {', '.join(SYNTAX)}.\n\nFunctions: {', '.join(map(code, sorted(FUNCTIONS)))}.\n\n"
        "An entry of `select` is an expression with `AS name`, a column, or `*`, which is all columns; one of them may "
        "be `explode(list) AS name`, a row for each element. Patterns and formats, positions and names of fields are "
        "literals. Refused are what regular expressions of Java and RE2 read differently, division of decimals (cast "
        f"one to double), more than {MOST_DEPTH} expressions within each other and more than {MOST_TERMS:,} terms."
    )


def _engines() -> str:
    honoured = "; ".join(f"{name}: {', '.join(options) or 'none'}" for name, options in OPTIONS.items())
    return table(["", "spark", "local"], [
        ["reads", "any source of Spark", ", ".join((*READABLE, *names_of_formats("reads")))],
        ["writes", "any sink of Spark", ", ".join((*WRITABLE, *names_of_formats("writes")))],
        ["needs `path`", ", ".join(FILE_FORMATS), "the same"],
        ["other keys", "of formats that plugins bring, as their pages say", "the same"],
        ["`options`", "passed on", honoured],
        ["`where`, `select`", "any SQL", "the [expressions](#expressions) above; the rest is refused by name"],
        ["`checkpoint`, `trigger`", "as said above", "play no part"],
    ])  # fmt: skip
