"""distinct-count refuses what a sketch with panes cannot do, with the reason."""

import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import ConfigError

ROWS = pa.table({"t": pa.array([1], pa.timestamp("s")), "item": ["a"], "value": [1.0]})
QUERY = {"kind": "distinct-count", "time": "t", "item": "item", "every": "5 seconds"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"windows": ["5 seconds"], "value": "value"}, "backends.sketch: hll-panes has no parameter 'values'"),
        (
            {"windows": [], "longest": "12 seconds"},
            "lacks any-since, which the query needs: a pane has one HLL",
        ),
    ],
)
def test_sums_and_rules_are_refused_with_the_reason(keys, said):
    with pytest.raises(ConfigError, match=said):
        local.apply(ROWS, QUERY | keys, {"sketch": "hll-panes"})
