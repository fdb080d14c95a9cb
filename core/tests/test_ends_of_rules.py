"""The end of a rule is refused where there is none to end: compared with a walk through its versions by time."""

import numpy as np
import pyarrow as pa
from skyband.rules.rule_rows import Limits, read_rules

NAMES = "ab"


def table(rows):
    kinds = {"name": pa.string(), "window": pa.string(), "slide": pa.string(), "until": pa.timestamp("us")}
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    return pa.table({**columns, "after": pa.array([row["after"] for row in rows], pa.timestamp("us"))})


def drawn(rng):
    """Rows with a name and a time of their own: windows that may end by themselves, and ends."""
    places = rng.permutation([(name, after) for name in NAMES for after in range(1, 8)])[: int(rng.integers(1, 9))]
    rows = []
    for name, after in places.tolist():
        is_end, until = rng.random() < 0.5, int(after) + int(rng.integers(1, 4))
        window = None if is_end else "5 microseconds"
        rows.append({"name": name, "after": int(after), "window": window, "slide": "1 microsecond",
                     "until": until if not is_end and rng.random() < 0.5 else None})  # fmt: skip
    return rows


def without_a_rule(rows):
    """The places of ends before which no window of their name is in force."""
    found = set()
    for name in NAMES:
        ends = 0  # of the version before
        for place, row in sorted(enumerate(rows), key=lambda entry: entry[1]["after"]):
            if row["name"] != name:
                continue
            if row["window"] is None:
                found |= {place} if ends <= row["after"] else set()
                ends = 0
            else:
                ends = row["until"] or 10**9
    return found


def test_an_end_is_refused_where_no_rule_of_its_name_is_in_force():
    rng, count = np.random.default_rng(67), 0
    for _ in range(200):
        rows = drawn(rng)
        _, refused = read_rules(table(rows), Limits(100), pa.schema([]), 0, set(), {})
        assert {error.row for error, _ in refused} == without_a_rule(rows), rows
        assert all("to end" in error.message for error, _ in refused)
        count += len(refused)
    assert count > 100
