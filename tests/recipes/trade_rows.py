"""Thousands of rows for the jobs of the page of recipes by trade: made by a fixed rule, or from real streams."""

import os
from pathlib import Path

import duckdb
import pytest
from recipes.page import TRADES, recipes

BURN, ACCOUNTS, DEVICES, CARDS, REACH, TRENDING, STORIES = list(recipes(TRADES))[:7]
COUNT = 3000

MADE = {
    BURN: """
        moment(i * 6 + pick('s', 6)) as ts, 'service ' || least(pick('a', 6), pick('b', 6)) as service,
        case when pick('f', 1000) >= 3 + 30 * (i // 200 % 3) then 200 when i % 2 = 0 then 500 else 503 end as status,
        1 + pick('n', 80) as requests""",
    ACCOUNTS: """
        moment(i * 4 + pick('s', 4)) as ts,
        '10.0.0.' || least(pick('a', 200), pick('b', 200), pick('c', 200)) as address,
        'account ' || pick('d', 60) as account, pick('e', 3) = 0 as success""",
    DEVICES: """
        moment(i * 3600 + pick('s', 7200)) as ts, 'account ' || pick('a', 30) as account,
        'device ' || least(pick('b', 12), pick('c', 12)) as device""",
    CARDS: """
        moment(i * 40 + pick('s', 40)) as ts, i as payment, 'card ' || pick('a', 30) as card,
        'country ' || least(pick('b', 5), pick('c', 5)) as country, pick('d', 100000) / 100 as amount""",
    REACH: """
        moment(i * 900 + pick('s', 900)) as ts, 'campaign ' || pick('a', 3) as campaign,
        'channel ' || least(pick('b', 4), pick('c', 4)) as channel, 'person ' || pick('d', 700) as person""",
    TRENDING: """
        moment(i * 90 + pick('s', 90)) as ts, 'topic ' || (i // 150 + least(pick('a', 9), pick('b', 9))) as topic""",
    STORIES: """
        moment(i * 300) as ts, i as story, 'source ' || pick('a', 5) as source,
        array_to_string([
            if(place = pick('b', 9) or place = pick('c', 18), 'Word' || pick('d', 50),
                'word' || hash(pick('e', 60), place) % 50)
            for place in range(9)], ', ') as title""",
}
"""Each file's columns: `i` is a row's number, `moment` a time in seconds and `pick` a number below a limit."""

REAL = {
    BURN: """
        select date_trunc('minute', ts) as ts, regexp_extract(url, '[.](\\w+)', 1) as service, status,
            count(*) as requests
        from 'worldcup98_day6_sample.parquet' group by all""",
    ACCOUNTS: """
        select ts, 'client ' || client_id as address, 'page ' || object_id as account, status = 200 as success
        from 'worldcup98_day6_sample.parquet'""",
    DEVICES: """
        select make_timestamp(t_ms * 1000) as ts, tags[1] as account, tags[2] as device
        from 'tags_ask_ubuntu.parquet' where len(tags) > 1""",
    CARDS: """
        select ts, row_number() over () as payment, symbol || ' ' || exchange as card,
            volume::varchar as country, round(price * 100) / 100 as amount
        from 'trades_20131008_4sym.parquet'""",
    REACH: """
        select ts, regexp_extract(url, '[.](\\w+)', 1) as campaign, 'status ' || status as channel,
            'client ' || client_id as person
        from 'worldcup98_day6_sample.parquet'""",
    TRENDING: """
        select make_timestamp(t_ms * 1000) as ts, unnest(tags) as topic from 'tags_ask_ubuntu.parquet'""",
    STORIES: """
        select mdate::timestamp as ts, row_number() over () as story, venue as source, title
        from 'dblp_mdate.parquet' where title not like '%"%' and venue != ''""",
}
"""The same files from real streams; tags and titles stand for devices, topics and stories."""


def write_rows(folder: Path, question: str, real: bool = False, parts: int = 1) -> duckdb.DuckDBPyConnection:
    """Writes the file that a question's job reads; a connection with its rows as the table `given`, `us` their times.

    `parts`: how many files it is split into, in the order of time, in a folder of its name.
    """
    database = duckdb.connect()
    database.sql("set TimeZone = 'UTC'")
    if real:
        data = os.environ.get("SKYBAND_DATA")
        if not data:
            pytest.skip("SKYBAND_DATA does not name the folder of real streams")
        database.sql(f"set file_search_path = '{data}'")
        rows = f"select * from ({REAL[question]}) order by ts limit {COUNT}"
    else:
        database.sql("create macro moment(seconds) as make_timestamp(1781942400000000 + seconds * 1000000)")
        database.sql("create macro pick(i, name, size) as (hash(i, name) % size)::int")
        columns = MADE[question].replace("pick('", "pick(i, '")
        rows = f"select {columns} from range({COUNT}) numbers(i) order by ts"
    database.sql(f"create table given as select *, epoch_us(ts) as us, row_number() over () as place from ({rows})")
    target = folder / recipes(TRADES)[question].file
    if parts > 1:
        target.mkdir()
    for part in range(parts):
        path = target / f"{part}.csv" if parts > 1 else target
        chosen = f"where place > {part * COUNT // parts} and place <= {(part + 1) * COUNT // parts} order by place"
        columns = "* exclude (us, place) replace (strftime(ts::timestamp, '%Y-%m-%d %H:%M:%S.%f') as ts)"
        database.sql(f"copy (select {columns} from given {chosen}) to '{path}' (header)")
        os.utime(path, (1_000_000_000 + part,) * 2)
    return database
