"""Rows are cut by shard in their order, however many shards there are."""

import numpy as np
import pytest
from skyband_spark.frames.sharded_plan import _FEW_SHARDS, _by_shard


@pytest.mark.parametrize("count", [2, _FEW_SHARDS, _FEW_SHARDS + 1, 300])
@pytest.mark.parametrize("rows", [0, 1, 5, 2_000])
def test_each_shard_has_its_rows_in_order_and_empty_shards_are_absent(count, rows):
    shards = np.random.default_rng(rows).integers(0, count, rows)
    cut = {shard: places.tolist() for shard, places in _by_shard(shards, count)}
    assert [*cut] == sorted(set(shards.tolist()))
    assert cut == {shard: [place for place in range(rows) if shards[place] == shard] for shard in cut}
