"""The answers of the shards of heavy-hitters as those of one operator with all rows."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.groups import top_k_merging
from skyband.queries.composite_ids import answer_ids

from skyband_totals.heavy_hitters.query import HeavyHitters
from skyband_totals.heavy_hitters.state_columns import GRANDS
from skyband_totals.shares import Least, least_estimate, least_of
from skyband_totals.unit_worth import worth

_PLACE = "window's place"
"""A column while shards' answers are merged, called as no column of a source is."""
_ROW = "row's place"


def merge_shards(query: HeavyHitters, answers: pa.Table) -> pa.Table:
    """Shards share no object: the best of all are among the best of each, and grand totals add."""
    columns = answers.column_names[: -len(GRANDS)]
    each = ["at", "window"]
    totals = answers.filter(pc.equal(answers.column("rank"), 0)).select([*each, *GRANDS])
    for name in GRANDS:
        totals = totals.set_column(totals.column_names.index(name), name, as_units(totals.column(name), query.unit))
    sums = totals.group_by(each).aggregate([(name, "sum") for name in GRANDS])
    objects = answers.filter(pc.greater(answers.column("rank"), 0)).select(columns)
    joined = _with(sums, objects, each)
    if query.share is not None:
        least = _least(joined.column("grand_low_sum"), least_of(query.share))
        joined = joined.filter(pc.greater_equal(as_units(joined.column("high"), query.unit), least))
    shares = pc.divide(joined.column("total"), pa.array(worth(joined.column("grand_sum").to_numpy(), query.unit)))
    joined = joined.set_column(joined.column_names.index("share"), "share", shares)
    ids = answer_ids(joined, "object", query.object)
    places = {str(window): place for place, window in enumerate(query.windows)}
    order = pa.array([places[name] for name in joined.column("window").to_pylist()], pa.int64())
    keyed = joined.append_column(top_k_merging.ID, pa.array(ids)).append_column(_PLACE, order)
    ranked = top_k_merging.merge_top_k(
        keyed, ["at", _PLACE], [("total", "descending"), (top_k_merging.ID, "ascending")]
    )
    return top_k_merging.truncate(ranked, np.iinfo(np.int64).max if query.k is None else query.k, columns)


def as_units(totals: pa.ChunkedArray, unit: float) -> pa.Array:
    """Totals in units, float64[n]: whole numbers where they are multiples but for the rounding; estimates unchanged."""
    units = totals.to_numpy() / unit
    nearest = np.rint(units)
    return pa.array(np.where(np.abs(units - nearest) <= units * 2.0**-50, nearest, units))


def _least(grands: pa.ChunkedArray, share: Least) -> pa.Array:
    """The least total that has the share of each grand total, float64[n]."""
    distinct, places = np.unique(grands.to_numpy(), return_inverse=True)
    return pa.array(np.array([least_estimate(share, grand) for grand in distinct.tolist()], np.float64)[places])


def _with(sums: pa.Table, objects: pa.Table, each: list[str]) -> pa.Table:
    """The objects, each with the sums of its answer. Arrow joins no tables of lists."""
    keys = objects.select(each).append_column(_ROW, pa.array(np.arange(len(objects))))
    found = keys.join(sums, each).sort_by(_ROW).drop_columns([*each, _ROW])
    for name in found.column_names:
        objects = objects.append_column(name, found.column(name))
    return objects
