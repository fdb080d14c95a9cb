"""The page matrix.md says what works where: windows in rows run on every engine, over all rows and by groups.

Windows in time are run by test_families.py, and what a query refuses is asked of it by the page itself.
"""

import pytest
from families import FAMILIES, events, family
from skyband.queries import kinds
from skyband_specs.reference.example_variants import forms

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WINDOWS = {"windows": ["60 rows", "100 rows"], "window": "80 rows", "every": "20 rows"}
WORKLOAD = [
    {"name": "quick", "window": "50 rows", "slide": "10 rows", "k": 2},
    {"name": "slow", "window": "200 rows", "slide": "100 rows", "k": 5},
]


def in_rows(kind: str, by: list[str]):
    """The family's query with its windows in rows."""
    keys = {name: value for name, value in WINDOWS.items() if name in FAMILIES[kind]}
    return family(kind, by=by, **keys, **({"queries": WORKLOAD} if "queries" in FAMILIES[kind] else {}))


@pytest.mark.parametrize("by", [[], ["place"]], ids=["all rows", "groups"])
@pytest.mark.parametrize("kind", sorted(kind for kind in kinds() if "rows" in [form.unit for form in forms(kind)]))
def test_windows_in_rows_run_in_batch_and_as_a_stream_as_locally(agree, kind, by):
    query = in_rows(kind, by)
    assert query.rows
    assert len(agree(events(1), query, count=4, shards=2 if by else 1)) > 10
