"""Resumes a stream from its shards' states with another number of shards, or with keys that may change.

With `by`, groups move between any numbers of shards. Without, rows of one item were always in one shard, along with
those of many others: states can be merged if the backend supports it, but never split.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from skyband import snapshot
from skyband.arrays import Array, UInt64
from skyband.errors import ConfigError, Problem, SnapshotError
from skyband.groups.execution import execution_of
from skyband.groups.partitioning import by_hash
from skyband.kernels.sorted_arrays import distinct
from skyband.operator.fingerprint import defaults_of, differences, fingerprint
from skyband.operator.operator import Operator
from skyband.operator.shard import Shard, check_complete
from skyband.queries.output_modes import ALL
from skyband.queries.query import Query
from skyband.registry import Binding

_REASONS = {
    "backends": "a state is read only by the backend that made it, with its parameters",
    "query.by": "a state does not have the rows of its groups, which would be needed to group them again",
    "query.window": "rows that no window needed are forgotten",
    "query.windows": "rows before the longest window are forgotten; other windows are allowed up to the longest",
    "column": "values of a column are stored in its old type",
}


def take_over(blobs: Sequence[bytes], before: Query, make: Callable[[bool], Operator], shards: int) -> list[Operator]:
    """The operators of `shards` shards, by number, that resume from snapshots, one per shard of a query `before`.

    The snapshots may be in any order if they name their shards; otherwise they are in order.

    make: creates an operator of the new query, given whether it is one of several shards whose answers are merged.
    Raises SnapshotError if the states have another query or backend, ConfigError if they cannot be put into this many
    shards.
    """
    several = len(blobs) > 1
    old = [make(several) for _ in blobs]
    query, bindings = old[0].query, old[0].bindings
    for operator, blob in zip(old, blobs, strict=True):
        operator.restore(_with_open_keys(blob, before, operator))
    numbered = [operator.shard for operator in old if operator.shard is not None]
    if numbered:
        check_complete(numbered, len(old))
        old.sort(key=lambda operator: 0 if operator.shard is None else operator.shard.number)
    if shards == len(blobs) and (numbered or not query.by):
        for number, operator in enumerate(old):
            operator.shard = Shard(number, shards)
        return old
    if query.by:
        _check_apart(old)
    else:
        _check_mergeable(query, bindings, len(blobs), shards)
    new = [make(shards > 1) for _ in range(shards)]
    for number, operator in enumerate(new):
        operator.shard = Shard(number, shards)
        operator.align_with(old[0])
        for part in old if query.by else old[number::shards]:
            if query.by:
                operator.absorb(part, partial(_of_shard, shards=shards, number=number))
            else:
                operator.merge(part)
        if not query.by and shards == 1:  # otherwise answers of shards are merged later
            operator.unite_withheld()
    return new


def _check_apart(operators: Sequence[Operator]) -> None:
    """Raise SnapshotError if two shards hold one group, each with a part of its rows."""
    keys = [operator.groups.keys for operator in operators]
    twice = sum(map(len, keys)) - len(distinct(*keys))
    if twice:
        raise SnapshotError(
            f"contradicts itself: {twice} groups are in two shards, as left by an old Skyband that mixed up shards; "
            "start over, with history"
        )


def _of_shard(groups: UInt64, shards: int, number: int) -> Array:
    """bool[n]: whether groups are in this one of `shards` shards."""
    return by_hash(groups, shards).shards == number


def _check_mergeable(query: Query, bindings: Mapping[str, Binding], there: int, shards: int) -> None:
    """Raise ConfigError unless `there` shards without `by` can become `shards`."""
    reason = query.one_shard or execution_of(query).unmerged(bindings)
    if reason is None and shards > there:
        reason = "a state without `by` cannot be split"
    if reason is None and there % shards:
        reason = "without `by` the number of shards must divide the old one"
    if reason is not None:
        message = f"the savepoint has {there} and cannot become {shards}: {reason}"
        raise ConfigError(Problem("shards", f"{message}; set shards = {there}, or start with history"))


def _with_open_keys(blob: bytes, before: Query, operator: Operator) -> bytes:
    """A snapshot rewritten for this operator's query, which differs from `before` only in keys that may change."""
    state = snapshot.decode(blob)
    recorded = state.header.get("operator")
    if not isinstance(recorded, dict):
        raise SnapshotError("the savepoint does not hold an operator of Skyband")
    current = fingerprint(operator.query, operator.bindings, operator.schema)
    changed = differences(recorded, current, defaults_of(operator.query))
    free = {f"query.{key}" for key in execution_of(operator.query).open_keys(before)}
    refused = [
        f"{text}: {reason}" if (reason := _reason(name)) else text for name, text in changed.items() if name not in free
    ]
    remedy = "change it back, or start the changed job with history"
    if refused:
        raise SnapshotError(f"the savepoint is of another job ({'; '.join(refused)}); {remedy}")
    if not changed:
        return blob
    has_answers = operator.query.answers != ALL or "withheld" in state.header
    columns, current_columns = (query.result_schema(operator.schema).names for query in (before, operator.query))
    if has_answers and columns != current_columns:
        raise SnapshotError(
            f"the savepoint is of another job ({'; '.join(changed.values())}): it has the last answers, with columns "
            f"{', '.join(columns)}; {remedy}"
        )
    return snapshot.encode({**state.header, "operator": current}, state.arrays)


def _reason(name: str) -> str | None:
    if name in _REASONS:
        return _REASONS[name]
    return _REASONS.get(name.partition(".")[0] if "." in name else name.partition(" ")[0])
