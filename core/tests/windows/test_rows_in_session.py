"""The search for the end of a session does not scan all later rows again for every gap."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.windows.calendar_schedule import CalendarSchedule
from skyband.windows.schedule import Schedule

MINUTE = 60_000_000
ROWS = 20_000


@pytest.mark.parametrize("between", [40, 500, 3000])
@pytest.mark.parametrize(("schedule", "window"), [(Schedule, "1 hour"), (CalendarSchedule, "today")])
def test_rows_are_looked_at_a_few_times_however_many_gaps_there_are(between, schedule, window, monkeypatch):
    """A gap of ten days after every few rows: a session is answered, then the next begins."""
    asked, original = [], schedule.has_ended

    def has_ended(self, last, watermark):
        asked.append(len(last))
        return original(self, last, watermark)

    monkeypatch.setattr(schedule, "has_ended", has_ended)
    row = np.arange(ROWS)
    times = row * (MINUTE // 60) + row // between * 10 * 24 * 60 * MINUTE
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "item": row})
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": [window], "every": "1 hour"}
    answers = local.apply(table, query, {"sketch": "exact"})
    stretches = -(-ROWS // between)
    assert sum(asked) <= 4 * ROWS + 1024 * stretches
    shown = np.diff(np.unique(answers["at"].to_numpy().astype("datetime64[us]"))) > np.timedelta64(5, "D")
    assert shown.sum() == stretches - 1
