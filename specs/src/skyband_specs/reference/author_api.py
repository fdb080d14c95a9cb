"""The page of what authors of plugins import: every public module with its classes and functions."""

import textwrap
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from skyband_specs.reference.class_source import constants_of, made_with, said_below
from skyband_specs.reference.interface import Member, members_of, signature_of
from skyband_specs.reference.markdown import code, docstring, fenced, line, page, prose, section, table

PUBLIC: Mapping[str, tuple[str, ...]] = {
    "skyband": ("BackendInfo", "QueryInfo", "RoleInfo", "FormatInfo"),
    "skyband.errors": ("ConfigError", "Problem", "InputError", "SnapshotError"),
    "skyband.lazy_names": ("lazy_names",),
    "skyband.arrays": ("column", "moment", "whole", "never_back", "within", "among", "offsets_of"),
    "skyband.config.parameters": ("integer", "number", "choice", "flag", "checked"),
    "skyband.config.half_open_ranges": ("range_parameter",),
    "skyband.config.durations": ("Duration", "duration", "durations"),
    "skyband.state_validation": ("StateReader",),
    "skyband.roles": ("Backend",),
    "skyband.roles.object_ranker": ("REDUCTIONS",),
    "skyband.roles.sharding": ("PROBE", "BUILD", "BOTH"),
    "skyband.roles.similarity": ("NAMED",),
    "skyband.roles.answering_reader": ("AnsweringReader",),
    "skyband_distinct.sketch_reader": ("SketchReader",),
    "skyband_totals.top_reader": ("TopReader", "Ranking"),
    "skyband_totals.row_aggregates.role": ("RowAggregate",),
    "skyband_totals.row_aggregates.kept_values": ("Values", "Numbers", "Hashes"),
    "skyband.states.coverage": ("Coverage",),
    "skyband.states.question": ("Question",),
    "skyband.states.state": ("State",),
    "skyband.states.object_names": ("extra_arrays", "together"),
    "skyband.queries.query": ("Query", "Input"),
    "skyband.queries.shared_keys": (
        "column_name",
        "column_names",
        "order_parameter",
        "is_name",
        "check_names",
        "as_names",
    ),
    "skyband.groups.execution": ("Execution",),
    "skyband.groups.broadcast_state": ("BroadcastState",),
    "skyband.groups.processor": ("GroupProcessor",),
    "skyband.groups.windowed_processor": ("WindowedProcessor",),
    "skyband.groups.answer_columns": ("AnswerColumns", "RawAnswers"),
    "skyband.queries.time_columns": ("at_field", "moments", "microseconds", "is_null"),
    "skyband.groups.state_arrays": ("with_prefix", "without_prefix", "frame_to_array", "frame_from_array"),
    "skyband.groups.top_k_merging": ("merge_top_k", "truncate"),
    "skyband.queries.presentation": ("QueryPresentation",),
    "skyband.queries.first_query": ("SourceSample", "ColumnSample", "FirstQuery"),
    "skyband.windows.schedule": ("Schedule", "Regular", "EachRow"),
    "skyband.groups.small_groups.host": ("SmallGroups",),
    "skyband.groups.small_groups.limits": ("most_entries",),
    "skyband.groups.small_groups.table": ("SmallGroupTable", "PassInput", "PassResult"),
    "skyband.groups.small_groups.windows_in_rows": ("SmallRowWindows",),
    "skyband.queries.example": ("QueryExample", "JobExample", "rows", "examples"),
    "skyband.columns.rows": ("Rows",),
    "skyband.columns.numbers": ("is_number", "as_float64"),
    "skyband.columns.hashing": ("hash_column", "hash_columns"),
    "skyband.columns.ids": ("is_plain", "is_integer_id", "to_ids", "integers_of", "id_values"),
    "skyband.registry": ("Binding",),
    "skyband_jobs": ("Job", "Source", "Sink"),
    "skyband_jobs.formats": ("Format", "TableKeys", "TableRows", "TablePart", "BatchSink", "NetChanges"),
    "skyband.kernels.kskyband": ("KSkyband",),
    "skyband.kernels.kskyband_kernels": (),
    "skyband.kernels.grouped_order": ("order_by_group",),
    "skyband.kernels.nested": ("kernel_njit", "nested_njit", "shared_njit"),
    "skyband_specs.scenario": ("Scenario",),
    "skyband_specs.scaffold.project": ("Template",),
    "skyband_specs.driver": ("Driver", "Case", "Trial", "advances"),
    "skyband_specs.stream": ("Stream",),
    "skyband_specs.check": ("check", "expect", "expect_equal"),
    "skyband_specs.counterexample": ("holds_for",),
    "skyband_specs.batching": ("fed", "seeded"),
    "skyband_specs.runner": ("verify", "subject", "verify_subject"),
    "skyband_specs.faults": ("faulty",),
    "skyband_specs.checks": ("checks_for",),
    "skyband_specs.formats": ("FormatTrial", "FormatSubject", "FormatCheck", "verify_format_subject", "CHECKS"),
    "skyband_specs.suite": (),
    "skyband_specs.queries.suite": (),
}
"""The modules, each with the classes and functions that the page shows."""

SHARED: Mapping[str, tuple[str, ...]] = {
    "what families share: columns": (
        "skyband.columns.row_store_by_position", "skyband.columns.integer_ids", "skyband.columns.keyed_frames",
        "skyband.columns.values_by_id",
        "skyband.columns.column_ops", "skyband.columns.record_batch_bytes", "skyband.columns.row_codes",
        "skyband.columns.rows_behind_answers", "skyband.columns.sides", "skyband.columns.state_frame_checks",
        "skyband.columns.gaps_in_row_numbers",
    ),
    "what families share: keys of queries": (
        "skyband.config.calendar_lengths", "skyband.config.literals", "skyband.config.time_zone_conversion",
        "skyband.queries", "skyband.queries.carried_columns",
        "skyband.queries.composite_ids", "skyband.queries.emitted_states", "skyband.queries.output_modes",
        "skyband.queries.pair_columns", "skyband.windows.calendar_schedule",
        "skyband.windows.half_lives", "skyband.windows.window_parameters", "skyband.rules.query_with_rules",
        "skyband_expressions.binding", "skyband_expressions.expression", "skyband_expressions.row_conditions",
        "skyband_expressions.spine", "skyband_expressions.syntax",
    ),
    "what families share: groups": (
        "skyband.groups.batched_processor", "skyband.groups.partitioning", "skyband.groups.per_row_processor",
        "skyband.groups.plain_turns",
        "skyband.groups.small_groups.entries", "skyband.groups.small_groups.passes",
        "skyband.groups.small_groups.kernels", "skyband.groups.small_groups.per_row",
        "skyband.rules.rules_processor", "skyband.rules.rule_moments", "skyband.rules.rule_rows",
        "skyband.rules.json_rules", "skyband.rules.rules_in_force", "skyband.rules.small_groups_with_rules",
    ),
    "what families share: kernels and roles": (
        "skyband.kernels.group_numbers",
        "skyband.kernels.k_smallest", "skyband.kernels.mixing", "skyband.kernels.selection",
        "skyband.kernels.sorted_arrays", "skyband.kernels.sorting", "skyband.roles.clock", "skyband.roles.thread_guard",
        "skyband.roles.matcher", "skyband.roles.pair_ranker",
        "skyband.roles.window", "skyband.snapshot",
    ),
    "states": (
        "skyband.states.asking", "skyband.states.readers", "skyband.states.since_or_last", "skyband.states.uniting",
    ),
    "for commands": (
        "skyband.cli.commands", "skyband.cli.options", "skyband.cli.paths", "skyband.config.redaction",
        "skyband.instants", "skyband_jobs.files.file_listing", "skyband_jobs.job.checked_job",
        "skyband_jobs.running.compilation_notice", "skyband.engines.reference",
        "skyband_jobs.programs.engines", "skyband_jobs.job.job_error", "skyband_jobs.job.job_file",
        "skyband_jobs.local.run", "skyband_jobs.tables.model", "skyband_jobs.job.progress",
        "skyband_jobs.programs.parsing", "skyband_jobs.programs.run", "skyband_spark.job_session",
        "skyband_jobs.files.source_files", "skyband_jobs.files.text_files", "skyband_jobs.files.csv_columns",
        "skyband_jobs.job.spine_rows", "skyband_jobs.files.text_values",
        "skyband_jobs.tables.table_location", "skyband.atomic_files", "skyband.operator.bind_backends",
        "skyband.operator.operator", "skyband.operator.row_encoding", "skyband.registry.discovery",
        "skyband.registry.info",
        "skyband.text_tables", "skyband.version",
    ),
    "for engines and jobs": (
        "skyband_expressions.bound",
        "skyband_expressions.failing_rows",
        "skyband_expressions.spark_types",
        "skyband_expressions.text_casts",
        "skyband_expressions.time_formats",
        "skyband_jobs.commands.options",
        "skyband_jobs.files.columnar_files",
        "skyband_jobs.files.csv_dialect",
        "skyband_jobs.files.file_parts",
        "skyband_jobs.files.refused_rows",
        "skyband_jobs.files.row_location",
        "skyband_jobs.running.limits",
        "skyband_jobs.tables.spark_ddl",
        "skyband_jobs.files.states_table",
        "skyband_jobs.tables.store_paths",
        "skyband_jobs.files.table_source",
        "skyband_jobs.files.where_and_select",
        "skyband_jobs.job.column_name_clashes",
        "skyband_jobs.job.engine",
        "skyband_jobs.job.output_folders",
        "skyband_jobs.local.sink",
        "skyband_jobs.local.sink_parts",
        "skyband_jobs.running.bad_rows",
        "skyband_jobs.running.broadcast",
        "skyband_jobs.tables.table_sink",
        "skyband_jobs.commands.deferred_pandas",
        "skyband_jobs.files.asking_a_table",
        "skyband_jobs.job.opening",
        "skyband_jobs.local.engine",
        "skyband_jobs.metrics.exposition",
        "skyband_jobs.metrics.server",
        "skyband_jobs.running.checkpoint_record",
        "skyband_jobs.running.logged_progress",
        "skyband_jobs.running.savepoint",
        "skyband_jobs.running.stream_lock",
        "skyband_specs.engines",
        "skyband.cli.json_lines", "skyband.cli.listing", "skyband.cli.streams", "skyband.columns.arrow_normalization",
        "skyband.columns.compact_frames", "skyband.columns.dictionaries", "skyband.engines.engine",
        "skyband.engines.local",
        "skyband.memory_limit", "skyband.operator.bad_rows", "skyband.operator.logged_batch",
        "skyband.operator.metrics", "skyband.operator.resharding", "skyband.operator.shard",
        "skyband.operator.static_broadcast_table", "skyband.queries.grouping_sets", "skyband.registry.homes",
        "skyband.registry.install_hints", "skyband.registry.module_import", "skyband.registry.name_claims",
        "skyband.states.compatibility", "skyband.states.functions", "skyband.watermark",
    ),
    "for formats": ("skyband_jobs.files.json_files", "skyband_jobs.formats.extras", "skyband_jobs.formats.json_rows"),
    "for conformance": (
        "skyband_specs.binomial", "skyband_specs.drivers", "skyband_specs.odd_streams", "skyband_specs.memoized_oracle",
        "skyband_specs.together",
        "skyband_specs.pair_ranker.checks", "skyband_specs.pair_ranker.driver", "skyband_specs.pair_ranker.oracle",
        "skyband_specs.pair_ranker.streams", "skyband_specs.pair_ranker.trials",
    ),
}  # fmt: skip
"""Further modules that a plugin may import, by purpose; their docstrings describe them."""

WIDTH = 100

LEAD = (
    "Everything that a plugin may import, as in its source. Everything else is internal and may change in any "
    "release. The guides to writing a backend, a query and a role explain what each is for. `skyband.hookimpl` marks a "
    "hook. Types of arrays such as `Int64` and `Array` are one-dimensional numpy arrays; they are defined in "
    "`skyband.arrays`, with `TIME_MIN` and `TIME_MAX`. `pa` is pyarrow, `npt` numpy.typing."
)


SHARED_LEAD = (
    "Skyband's own plugins also import these. They may change in a minor release, with an entry in CHANGELOG; what a "
    "plugin needs to know is in their docstrings."
)


def author_page() -> str:
    """The reference for authors; without the checks if skyband-specs is not installed."""
    there = {name: names for name, names in PUBLIC.items() if find_spec(name.partition(".")[0]) is not None}
    shared = section("Further modules", SHARED_LEAD, *(_shared(what, names) for what, names in SHARED.items()))
    return page("For authors", LEAD, *(_module(name, names) for name, names in there.items()), shared)


def _shared(what: str, names: tuple[str, ...]) -> str:
    there = [name for name in names if find_spec(name.partition(".")[0]) is not None]
    rows = [[code(name), line(docstring(import_module(name)).partition("\n\n")[0])] for name in there]
    return table([what, ""], rows) if rows else ""


def _module(name: str, names: tuple[str, ...]) -> str:
    module = import_module(name)
    text = "" if name == "skyband" else _prose(docstring(module))
    return section(code(name), text, *(_entry(module, one) for one in names))


def _entry(module: ModuleType, name: str) -> str:
    entry: Any = getattr(module, name)
    if name.isupper():
        return f"### {code(name)}\n\n{_prose(said_below(module, name))}"
    signature = made_with(entry) if isinstance(entry, type) else signature_of(entry)
    parts = [f"### {code(name)}", fenced("python", signature), _prose(docstring(entry))]
    return "\n\n".join([*parts, *(_members(entry) if isinstance(entry, type) else [])])


def _members(cls: type) -> list[str]:
    """The methods that a subclass must write, and those to call or override."""
    abstract: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    methods = [one for one in members_of(cls, object) if one.name in abstract or (one.public and not _magic(one))]
    abstract_names = [code(one.name) for one in methods if one.name in abstract]
    parts = [f"A subclass must write {', '.join(abstract_names)}."] if abstract_names else []
    members = [*constants_of(cls), *methods]
    source = "\n\n".join(f"{_comment(one)}{one.signature}" for one in members)
    return [*parts, fenced("python", source)] if members else parts


def _magic(member: Member) -> bool:
    return member.name.startswith("__") and member.name not in ("__len__", "__getitem__")


def _comment(member: Member) -> str:
    lines = [
        line
        for paragraph in member.text.split("\n\n")
        for line in textwrap.wrap(" ".join(paragraph.split()), WIDTH, break_on_hyphens=False)
    ]
    return "".join(f"# {line}\n" for line in lines)


def _prose(text: str) -> str:
    """Paragraphs as Markdown; code, as a session or indented, as code blocks."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(">>>"):
            paragraphs.append(fenced("pycon", paragraph))
        elif paragraph.startswith("    "):
            paragraphs.append(fenced("py", textwrap.dedent(paragraph)))
        else:
            paragraphs.append(prose(paragraph))
    return "\n\n".join(paragraphs)
