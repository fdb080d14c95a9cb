"""Which repetitions of a check wait for the weekly run: three rules, and what of each stays in CI."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from skyband.registry import installed

STAYS = {
    "batch-split": {"random_batches"},
    "determinism": {"two_backends_agree"},
    "scale": {"large_streams_equal_a_fast_oracle"},
    "snapshot": {"restored_goes_on_as_undisturbed", "mutated_states_are_refused_or_work"},
}
"""Conformance: a role's default backend is tried by all checks in CI, others by these of the groups named, and by all
checks of the other groups, exactness and bounds first of all."""

OF_EVERY_BACKEND = {
    "plugins/compare/tests/test_comparison.py::test_small_groups_stand_in_for_no_backend_that_is_compared",
}
"""Tests of what is around backends, with `info` of each: in CI with the default of each role."""

IN_TURN = {
    "plugins/setjoin/tests/test_rankers.py::test_a_token_that_all_sets_share_changes_no_answer": "similarity most",
    "plugins/totals/tests/test_at_least.py::test_the_objects_that_have_so_much_are_in_the_answer": "name total",
    "plugins/totals/tests/test_ties.py::test_ties_are_in_the_order_of_objects": "name total",
    "plugins/uncertain/tests/test_points.py::test_neither_batches_nor_restarts_nor_shards_can_be_seen": "window",
    "plugins/uncertain/tests/test_query_conformance.py::test_query_conformance": "check",
    "plugins/uncertain/tests/test_small_uncertain_joins.py"
    "::test_small_groups_answer_as_processors_and_their_bytes_tell_no_cuts": "name",
    "tests/queries/test_large_small_groups.py::test_many_rows_between_answers_are_as_few_and_as_by_processors": "name",
    "tests/queries/test_many_groups.py::test_each_group_answers_as_if_it_were_alone": "kind awake",
    "tests/queries/test_small_groups.py"
    "::test_groups_of_many_entries_answer_as_processors_however_many_rows_come_at_once": "number",
    "tests/queries/test_small_groups.py::test_small_groups_answer_as_processors_and_their_bytes_tell_no_cuts": "number",
    "tests/queries/test_small_groups_of_rows.py"
    "::test_small_groups_answer_as_processors_and_their_bytes_tell_no_cuts": "number",
    "tests/spark/test_families.py::test_batch_and_stream_equal_local": "kind",
    "tests/states/test_first_states.py::test_it_answers_as_one_that_had_all_rows": "case",
    "tests/states/test_resharding.py::test_any_shards_become_any_others_or_are_refused": "kind",
}
"""Tests of every pair of a subject (these parameters: a query, a stream, a check) and a way to try it (all others: a
number of shards, limits, a seed): in CI each subject is tried in one way, the next subject in the next way."""


def weekly(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Of all tests that were collected those that run weekly."""
    ways: dict[str, dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        name, parameters = item.nodeid.partition("[")[0], _parameters(item)
        if name in IN_TURN:
            subject = repr([_told(parameters[key]) for key in IN_TURN[name].split()])
            ways[name][subject].append(item)
        elif name in OF_EVERY_BACKEND:
            if not _is_default(parameters["info"]):
                yield item
        elif name.endswith("::test_conformance") and "entry" in parameters:
            group, check = parameters["check"].group, parameters["check"].name
            if check not in STAYS.get(group, {check}) and not _is_default(parameters["entry"].info):
                yield item
    for subjects in ways.values():
        for turn, ways_of_one in enumerate(subjects.values()):
            stays = ways_of_one[turn % len(ways_of_one)]
            yield from (item for item in ways_of_one if item is not stays)


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _told(value: Any) -> str:
    """A parameter as text that is the same in every process."""
    return str(getattr(value, "name", value))


def _is_default(info: Any) -> bool:
    return bool(info.name == installed().role(info.role).default)
