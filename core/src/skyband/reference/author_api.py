"""The page of what authors of plugins import: every public module with its classes and functions."""

import textwrap
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from skyband.reference.class_source import constants_of, made_with, said_below
from skyband.reference.interface import Member, members_of, signature_of
from skyband.reference.markdown import code, docstring, fenced, page, prose, section

PUBLIC: Mapping[str, tuple[str, ...]] = {
    "skyband": ("BackendInfo", "QueryInfo", "RoleInfo"),
    "skyband.errors": ("ConfigError", "Problem", "InputError", "SnapshotError"),
    "skyband.arrays": ("column", "moment", "whole", "never_back", "within", "among", "offsets_of"),
    "skyband.config.parameters": ("integer", "number", "choice", "flag", "checked"),
    "skyband.config.durations": ("Duration", "duration", "durations"),
    "skyband.state_validation": ("StateReader",),
    "skyband.roles": ("Backend",),
    "skyband.roles.object_ranker": ("REDUCTIONS",),
    "skyband.roles.pair_ranker": ("MEETS", "KEPT"),
    "skyband.roles.similarity": ("NAMED",),
    "skyband.roles.sketch_reader": ("SketchReader",),
    "skyband.roles.top_reader": ("TopReader", "Ranking"),
    "skyband.queries.query": ("Query", "Input", "column_name"),
    "skyband.groups.execution": ("Execution",),
    "skyband.groups.processor": ("GroupProcessor", "WindowedProcessor"),
    "skyband.groups.answer_columns": ("AnswerColumns",),
    "skyband.queries.row_encoding": ("at_field", "moments", "microseconds", "is_null", "closed_length", "too_short"),
    "skyband.groups.state_arrays": ("with_prefix", "without_prefix", "frame_to_array", "frame_from_array"),
    "skyband.queries.top_k_merging": ("merge_top_k", "truncate"),
    "skyband.queries.schedule": ("Schedule", "Regular", "EachRow"),
    "skyband.groups.small_groups": ("SmallGroups", "most_entries"),
    "skyband.groups.small_group_table": ("SmallGroupTable", "Step", "Walked"),
    "skyband.groups.small_row_windows": ("SmallRowWindows",),
    "skyband_setjoin.small_sets": ("SmallSets", "SetsInOrder"),
    "skyband.queries.example": ("QueryExample", "JobExample"),
    "skyband.queries.example_rows": ("rows", "examples"),
    "skyband.columns.rows": ("Rows",),
    "skyband.columns.numbers": ("is_number", "as_float64"),
    "skyband.columns.hashing": ("hash_column", "hash_columns"),
    "skyband.columns.ids": ("is_plain", "is_integer_id", "to_ids", "integers_of", "id_values"),
    "skyband.registry": ("Binding",),
    "skyband.kernels.kskyband": ("KSkyband",),
    "skyband.kernels.kskyband_kernels": (),
    "skyband.kernels.nested": ("kernel_njit", "nested_njit", "shared_njit"),
    "skyband_specs.scenario": ("Scenario",),
    "skyband.scaffold.project": ("Template",),
    "skyband_specs.driver": ("Driver", "Case", "Trial", "advances"),
    "skyband_specs.stream": ("Stream",),
    "skyband_specs.check": ("check", "expect", "expect_equal"),
    "skyband_specs.counterexample": ("holds_for",),
    "skyband_specs.batching": ("fed", "seeded"),
    "skyband_specs.runner": ("verify", "subject", "verify_subject"),
    "skyband_specs.faults": ("faulty",),
    "skyband_specs.checks": ("checks_for",),
    "skyband_specs.suite": (),
    "skyband_specs.queries.suite": (),
}
"""The modules, and of each the classes and functions that the page shows."""

WIDTH = 100

LEAD = (
    "Everything that a plugin may import, as its source writes it. What is not here is internal and may change in any "
    "release. The guides to writing a backend, a query and a role say what each is for. `skyband.hookimpl` marks a "
    "hook. Types of arrays such as `Int64` and `Array` are numpy's, of one dimension; they stand in `skyband.arrays`, "
    "with `TIME_MIN` and `TIME_MAX`. `pa` is pyarrow, `npt` numpy.typing."
)


def author_page() -> str:
    """The reference for authors; the checks' part is left out where skyband-specs is not installed."""
    there = {name: names for name, names in PUBLIC.items() if find_spec(name.partition(".")[0]) is not None}
    return page("For authors", LEAD, *(_module(name, names) for name, names in there.items()))


def _module(name: str, names: tuple[str, ...]) -> str:
    module = import_module(name)
    said = "" if name == "skyband" else _prose(docstring(module))
    return section(code(name), said, *(_entry(module, one) for one in names))


def _entry(module: ModuleType, name: str) -> str:
    entry: Any = getattr(module, name)
    if name.isupper():
        return f"### {code(name)}\n\n{_prose(said_below(module, name))}"
    made = made_with(entry) if isinstance(entry, type) else signature_of(entry)
    parts = [f"### {code(name)}", fenced("python", made), _prose(docstring(entry))]
    return "\n\n".join([*parts, *(_members(entry) if isinstance(entry, type) else [])])


def _members(cls: type) -> list[str]:
    """What a subclass has to write, and what is there to be called or written anew."""
    left: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    methods = [one for one in members_of(cls, object) if one.name in left or (one.public and not _magic(one))]
    written = [code(one.name) for one in methods if one.name in left]
    parts = [f"A subclass writes {', '.join(written)}."] if written else []
    shown = [*constants_of(cls), *methods]
    listed = "\n\n".join(f"{_comment(one)}{one.signature}" for one in shown)
    return [*parts, fenced("python", listed)] if shown else parts


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
    """Paragraphs as Markdown; those that are code, as a session or indented, as blocks of it."""
    shown = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(">>>"):
            shown.append(fenced("pycon", paragraph))
        elif paragraph.startswith("    "):
            shown.append(fenced("py", textwrap.dedent(paragraph)))
        else:
            shown.append(prose(paragraph))
    return "\n\n".join(shown)
