"""Conditions of `source.where` that mean the same on every engine, and the rows for which each is true."""

import pyarrow as pa

ROWS = pa.table(
    {
        "status": pa.array([200, 404, None, 404, 500, -1], pa.int32()),
        "agent": ["curl/8", "Mozilla", None, "mozilla x", "50%_off", ""],
        "seconds": [0.5, float("nan"), 1.5, None, -2.0, 3.0],
        "bot": [True, False, None, True, False, False],
        "a b": [1, 2, 3, 4, 5, 6],
    }
)

CONDITIONS = {
    "status = 404": [1, 3],
    "status <> 404": [0, 4, 5],
    "NOT status != 404": [1, 3],
    "status >= 404 and seconds < 1": [4],
    "status = 200 OR status = 500 AND bot": [0],
    "(status = 200 OR status = 500) AND NOT bot": [4],
    "status IN (200, -1)": [0, 5],
    "status not in (200, 404)": [4, 5],
    "status between 200 and 404": [0, 1, 3],
    "status NOT BETWEEN 200 AND 404": [4, 5],
    "status IS NULL": [2],
    "agent is not null": [0, 1, 3, 4, 5],
    "agent LIKE 'M%'": [1],
    "agent not like '%o_i%'": [0, 4, 5],
    "agent = ''": [5],
    "agent > 'Z'": [0, 3],
    "seconds > 1": [1, 2, 5],
    "seconds >= 3": [1, 5],
    "seconds < 1": [0, 4],
    "seconds <> 0.5": [1, 2, 4, 5],
    "seconds BETWEEN 0.5 AND 2": [0, 2],
    "seconds = 3": [5],
    "bot": [0, 3],
    "not bot": [1, 4, 5],
    "bot = false": [1, 4, 5],
    "`a b` <= 2": [0, 1],
}
"""Each with the rows for which SQL (Spark's, where NaN is above all numbers) says that it is true."""
