"""The states of a stream's shards for a stream that begins with them: with other shards, and with keys that may change.

With `by`, groups move between any numbers of shards. Without, rows of one item were always in one shard, of many items
each: states can be merged where the backend does that, and never cut.
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
    "query.by": "a state does not know the rows of its groups, to group them anew",
    "query.window": "rows that no window needed any more are forgotten",
    "query.windows": "rows before the longest window are forgotten; others are free up to the longest",
    "column": "what is kept of a column is kept as it was",
}


def take_over(blobs: Sequence[bytes], before: Query, make: Callable[[bool], Operator], shards: int) -> list[Operator]:
    """The operators of `shards` shards, by number, that go on from snapshots, one of each shard of a query `before`.

    The snapshots may come in any order where they say which shard they are of; else they come by number.

    make: a fresh operator of the query that goes on, given whether it is one of several shards whose answers are
    merged. Raises SnapshotError where the states are of another query or backend, ConfigError where they cannot be
    put into as many shards.
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
        for one in old if query.by else old[number::shards]:
            if query.by:
                operator.absorb(one, partial(_of_shard, shards=shards, number=number))
            else:
                operator.merge(one)
        if not query.by and shards == 1:  # else the answers of shards are merged when they are given
            operator.unite_withheld()
    return new


def _check_apart(operators: Sequence[Operator]) -> None:
    """Raise SnapshotError where two shards hold one group, each with a part of its rows."""
    keys = [operator.groups.keys for operator in operators]
    twice = sum(map(len, keys)) - len(distinct(*keys))
    if twice:
        raise SnapshotError(
            f"contradicts itself: {twice} groups are in two shards, as a Skyband left them that took shards for one "
            "another; begin anew, with history"
        )


def _of_shard(groups: UInt64, shards: int, number: int) -> Array:
    """bool[n]: which groups are in one of so many shards."""
    return by_hash(groups, shards).shards == number


def _check_mergeable(query: Query, bindings: Mapping[str, Binding], there: int, shards: int) -> None:
    """Raise ConfigError unless so many shards without `by` can become so many."""
    reason = query.one_shard or execution_of(query).unmerged(bindings)
    if reason is None and shards > there:
        reason = "a state without `by` cannot be cut into several"
    if reason is None and there % shards:
        reason = "without `by` shards are merged, to a number that divides theirs"
    if reason is not None:
        message = f"the savepoint has {there} and they cannot become {shards}: {reason}"
        raise ConfigError(Problem("shards", f"{message}; set shards = {there}, or begin with history"))


def _with_open_keys(blob: bytes, before: Query, operator: Operator) -> bytes:
    """A snapshot as one of this operator's query, which differs from that `before` only in keys that may change."""
    state = snapshot.decode(blob)
    recorded = state.header.get("operator")
    if not isinstance(recorded, dict):
        raise SnapshotError("the savepoint holds no operator of Skyband")
    here = fingerprint(operator.query, operator.bindings, operator.schema)
    changed = differences(recorded, here, defaults_of(operator.query))
    free = {f"query.{key}" for key in execution_of(operator.query).open_keys(before)}
    refused = [
        f"{text}: {reason}" if (reason := _reason(name)) else text for name, text in changed.items() if name not in free
    ]
    remedy = "change it back, or begin the changed job with history"
    if refused:
        raise SnapshotError(f"the savepoint is of another job ({'; '.join(refused)}); {remedy}")
    if not changed:
        return blob
    has_answers = operator.query.answers != ALL or "withheld" in state.header
    columns, columns_here = (query.result_schema(operator.schema).names for query in (before, operator.query))
    if has_answers and columns != columns_here:
        raise SnapshotError(
            f"the savepoint is of another job ({'; '.join(changed.values())}): it keeps the last answers, with columns "
            f"{', '.join(columns)}; {remedy}"
        )
    return snapshot.encode({**state.header, "operator": here}, state.arrays)


def _reason(name: str) -> str | None:
    if name in _REASONS:
        return _REASONS[name]
    return _REASONS.get(name.partition(".")[0] if "." in name else name.partition(" ")[0])
