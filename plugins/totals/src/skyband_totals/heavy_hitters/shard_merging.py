"""Merges the answers of the shards of heavy-hitters into those of a single operator with all rows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.groups import top_k_merging
from skyband.queries.composite_ids import answer_ids

from skyband_totals.fixed_point import worth
from skyband_totals.heavy_hitters.query import HeavyHitters
from skyband_totals.heavy_hitters.rest_rows import in_units, object_counts, rest_of, shares
from skyband_totals.heavy_hitters.state_columns import GRANDS, OBJECTS
from skyband_totals.shares import Least, least_estimate, least_of
from skyband_totals.top import UNKNOWN, Tops

_PLACE = "window's place"
"""A temporary column, with a name that no source has."""
_ROW = "row's place"
_FAR, _DIFFERENCE = "how far an object moved", "how many units an object moved by"


def merge_shards(query: HeavyHitters, answers: pa.Table) -> pa.Table:
    """Shards share no object: the best of all are among the best of each, and grand totals add up."""
    columns = answers.column_names[: -len(GRANDS)]
    each = ["at", "window"]
    counts = [OBJECTS] if query.rest else []
    totals = answers.filter(pc.equal(answers.column("rank"), 0)).select([*each, *GRANDS, *counts])
    unit = query.unit
    for name in GRANDS:
        totals = totals.set_column(totals.column_names.index(name), name, _as_units(totals, name, unit))
    whole = pc.ScalarAggregateOptions(skip_nulls=False)
    aggregates = [*((name, "sum") for name in GRANDS), *((name, "sum", whole) for name in counts)]
    sums = totals.group_by(each).aggregate(aggregates)
    objects = answers.filter(pc.greater(answers.column("rank"), 0)).select([*columns, GRANDS[-1]])
    joined = _with(sums, objects, each)
    if query.share is not None:
        least = _least(joined.column("grand_low_sum"), least_of(query.share))
        most = "high" if query.part is None else GRANDS[-1]
        joined = joined.filter(pc.greater_equal(_as_units(joined, most, unit), least))
    shares = pc.divide(joined.column("total"), pa.array(worth(joined.column("grand_sum").to_numpy(), unit)))
    joined = joined.set_column(joined.column_names.index("share"), "share", shares)
    best = _best(query, joined, [query.ranked_by], columns)
    return _with_rest(query, best, sums, _window_places(query)) if query.rest else best


def merge_totals(query: HeavyHitters, answers: pa.Table) -> pa.Table:
    """Merge answers without grand totals: the best of all are among the best of each shard."""
    return _best(query, answers, [query.ranked_by], answers.column_names)


def merge_movers(query: HeavyHitters, answers: pa.Table) -> pa.Table:
    """Merge movers: those with the largest changes are among those of each shard."""
    total, previous = (_as_units(answers, name, query.unit).to_numpy() for name in ("total", "previous"))
    far = pa.array(query.mover_rule.far(total, previous))
    keyed = answers.append_column(_FAR, far).append_column(_DIFFERENCE, pa.array(np.abs(total - previous)))
    return _best(query, keyed, [_FAR, _DIFFERENCE], answers.column_names)


def _best(query: HeavyHitters, objects: pa.Table, by: Sequence[str], columns: list[str]) -> pa.Table:
    """These columns of the best k of each answer, sorted by the columns `by` descending, then by object."""
    order = pa.array(map(_window_places(query).__getitem__, objects.column("window").to_pylist()), pa.int64())
    ids = pa.array(answer_ids(objects, "object", query.object))
    keyed = objects.append_column(top_k_merging.ID, ids).append_column(_PLACE, order)
    ranks = [*((name, "descending") for name in by), (top_k_merging.ID, "ascending")]
    ranked = top_k_merging.merge_top_k(keyed, ["at", _PLACE], ranks)
    return top_k_merging.truncate(ranked, np.iinfo(np.int64).max if query.k is None else query.k, columns)


def _window_places(query: HeavyHitters) -> Mapping[str, int]:
    return {str(window): place for place, window in enumerate(query.windows)}


def _as_units(table: pa.Table, column: str, unit: float) -> pa.Array:
    return pa.array(in_units(table.column(column).to_numpy(), unit))


def _with_rest(query: HeavyHitters, best: pa.Table, sums: pa.Table, places: Mapping[str, int]) -> pa.Table:
    """The answers, each followed by a row of all other objects."""
    each = ["at", "window"]
    where = np.array([places[name] for name in sums.column("window").to_pylist()], np.int64)
    sums = sums.append_column(_PLACE, pa.array(where)).sort_by([("at", "ascending"), (_PLACE, "ascending")])
    numbered = sums.select(each).append_column(_ROW, pa.array(np.arange(len(sums))))
    of = best.select(each).append_column(_PLACE, pa.array(np.arange(len(best)))).join(numbered, each).sort_by(_PLACE)
    answer = of.column(_ROW).to_numpy()
    grand, grand_low, grand_high = (worth(sums.column(f"{name}_sum").to_numpy(), query.unit) for name in GRANDS)
    counts = sums.column(f"{OBJECTS}_sum").fill_null(UNKNOWN).to_numpy()
    totals, low, high = (best.column(name).to_numpy() for name in ("total", "low", "high"))
    offsets = np.searchsorted(answer, np.arange(len(sums) + 1))
    tops = Tops(offsets, answer, totals, low, high, grand, grand_low, grand_high, grand, objects_in_all=counts)
    rest = rest_of(tops, query.unit)
    columns = {"total": rest.totals, "share": shares(rest.totals, grand), "low": rest.low, "high": rest.high}
    columns |= {"at": sums.column("at"), "window": sums.column("window"), OBJECTS: object_counts(rest.objects)}
    nulls = {field.name: pa.nulls(len(sums), field.type) for field in best.schema}
    others = pa.Table.from_pydict({**nulls, **columns}, schema=best.schema)
    order = np.lexsort((np.repeat([0, 1], [len(best), len(sums)]), np.append(answer, np.arange(len(sums)))))
    return pa.concat_tables([best, others]).take(pa.array(order))


def _least(grands: pa.ChunkedArray, share: Least) -> pa.Array:
    """float64[n]: the least total with the share of each grand total."""
    distinct, places = np.unique(grands.to_numpy(), return_inverse=True)
    return pa.array(np.array([least_estimate(share, grand) for grand in distinct.tolist()], np.float64)[places])


def _with(sums: pa.Table, objects: pa.Table, each: list[str]) -> pa.Table:
    """The objects, each with the sums of its answer. Arrow cannot join tables with lists."""
    keys = objects.select(each).append_column(_ROW, pa.array(np.arange(len(objects))))
    joined = keys.join(sums, each).sort_by(_ROW).drop_columns([*each, _ROW])
    for name in joined.column_names:
        objects = objects.append_column(name, joined.column(name))
    return objects
