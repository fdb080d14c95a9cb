"""What each of the sixteen questions has for an answer, row by row: by DuckDB, or by plain Python and numpy."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from math import dist
from operator import itemgetter

import mmh3
import numpy as np

MINUTE = 60_000_000
HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE


def moments(table: str, every: int, offset: int = 0, column: str = "us") -> str:
    """The multiples of `every` after the first row, to the first after the last one."""
    first, last = (f"({end}({column}) - {offset}) // {every} * {every} + {every + offset}" for end in ("min", "max"))
    return f"(select unnest(generate_series({first}, {last}, {every})) as moment from {table})"


def place_of(database, table: str, column: str) -> str:
    """A table of each text and its MurmurHash3, by which equal scores rank."""
    texts = [text for (text,) in database.sql(f"select distinct {column} from {table}").fetchall()]
    database.sql(f"create or replace table place_of_{column} (text varchar, place bigint)")
    rows = [(text, mmh3.hash64(text.encode(), signed=True)[0]) for text in texts]
    database.executemany(f"insert into place_of_{column} values (?, ?)", rows)
    return f"place_of_{column}"


def distinct_clients(database):
    return f"""
        select status, moment, label,
            count(distinct client) filter (us >= moment - length)::double as count, count as low, count as high
        from requests join {moments("requests", 30 * MINUTE)} on us < moment and us >= moment - {HOUR},
            (values ('10 minutes', {10 * MINUTE}), ('1 hour', {HOUR})) windows(label, length)
        group by all"""


def totals(database, table, found, every, lengths, total, k, by="0"):
    """Heavy hitters of text, ranked by their hash where equal."""
    place = place_of(database, table, found)
    windows = ", ".join(f"('{label}', {length})" for label, length in lengths.items())
    return f"""
        with totals as (
            select {by} as part, moment, label, {found} as object, ({total})::double as total
            from {table} join {moments(table, every)} on us < moment, (values {windows}) windows(label, length)
            where us >= moment - length group by all having {total} > 0)
        select {"part, " if by != "0" else ""} moment, label, row_number() over ranked as rank, object, total,
            total / sum(total) over (partition by part, moment, label) as share, total as low, total as high
        from totals join {place} on object = text
        window ranked as (partition by part, moment, label order by total desc, place) qualify rank <= {k}"""


def bytes_of_pages(database):
    windows = {"30 minutes": 30 * MINUTE, "6 hours": 6 * HOUR}
    return totals(database, "requests", "url", 30 * MINUTE, windows, "sum(bytes)", 3, by="status")


def missed_pages(database):
    database.sql("create or replace table missed as select * from requests where status = 404")
    return f"""
        select answers.*, (select list(distinct (client, bytes)) from missed where url = object and us = (
            select max(us) from missed where url = object and us < answers.moment)) as choices
        from ({totals(database, "missed", "url", 30 * MINUTE, {"1 hour": HOUR}, "count(*)", 5)}) answers"""


def pages_so_far_today(database):
    return f"""
        with begun as (
            select moment, epoch_us(timezone('Europe/Paris', date_trunc('day', timezone('Europe/Paris',
                make_timestamp(moment - 1)::timestamptz)))) as midnight from {moments("requests", 30 * MINUTE)})
        select moment, label, count(distinct (client, url)) filter (us >= start)::double as count, count, count
        from begun join requests on us < moment and us >= least(midnight, moment - {HOUR}),
            lateral (values ('today in Europe/Paris', midnight), ('1 hour', moment - {HOUR})) windows(label, start)
        group by all"""


def traded_since_the_opening(database):
    half_past = "interval '9 hours 30 minutes'"
    return f"""
        with begun as (
            select moment, epoch_us(timezone('America/New_York', {half_past} + date_trunc('day', timezone(
                'America/New_York', make_timestamp(moment - 1)::timestamptz) - {half_past}))) as start
            from {moments("trades", 15 * MINUTE)}),
        totals as (
            select moment, symbol, exchange, sum(volume)::double as total
            from trades join begun on us < moment and us >= start group by all having total > 0)
        select moment, 'since 09:30 in America/New_York', row_number() over ranked as rank, symbol, exchange, total,
            total / sum(total) over (partition by moment) as share, total, total
        from totals window ranked as (partition by moment order by total desc, symbol, exchange) qualify rank <= 3"""


def largest_by_symbol(database):
    place = place_of(database, "trades", "exchange")
    return f"""
        with held as (select *, max(volume) over (partition by moment, symbol, exchange) as score
            from trades join {moments("trades", 15 * MINUTE)} on us < moment and us >= moment - {30 * MINUTE}),
        best as (select *, max(us) over (partition by moment, symbol, exchange) as latest
            from held where volume = score)
        select symbol, moment, row_number() over ranked as rank, exchange, score::double,
            list_distinct(list(row(price))) as choices
        from best join {place} on exchange = text where us = latest group by moment, symbol, exchange, score, place
        window ranked as (partition by moment, symbol order by score desc, place) qualify rank <= 2"""


def largest_trades(database):
    end = f"(select (max(us) // {30 * MINUTE} + 1) * {30 * MINUTE} from trades)"
    parts = [
        f"""select moment, '{name}', row_number() over (partition by moment order by volume desc, trade) as rank,
            trade, volume::double, symbol, exchange, price
        from trades join {moments("trades", slide)} on us < moment and us >= moment - {length} where moment <= {end}
        qualify rank <= {k}"""
        for name, length, slide, k in (("short", 10 * MINUTE, 10 * MINUTE, 2), ("long", HOUR, 30 * MINUTE, 4))
    ]
    return " union all ".join(f"({part})" for part in parts)


def smallest_by_exchange(database):
    place = place_of(database, "trades", "exchange")
    return f"""
        with held as (select *, min(volume) over (partition by moment, exchange) as score
            from trades join {moments("trades", 15 * MINUTE)} on us < moment and us >= moment - {30 * MINUTE}),
        best as (select *, max(us) over (partition by moment, exchange) as latest from held where volume = score)
        select moment, 'smallest', row_number() over ranked as rank, exchange, score::double,
            list(row(trade)) as choices
        from best join {place} on exchange = text where us = latest group by moment, exchange, score, place
        window ranked as (partition by moment order by score, place) qualify rank <= 5"""


def highest_now(database):
    place = place_of(database, "air", "station")
    return f"""
        with valid as (select * from air where pm25 is not null)
        select moment, row_number() over ranked as rank, station, max_by(pm25, us)::double as score
        from valid join {place} on station = text
            join {moments("valid", HOUR)} on us < moment and us >= moment - {6 * HOUR}
        group by moment, station, place
        window ranked as (partition by moment order by max_by(pm25, us) desc, place) qualify rank <= 10"""


def coldest_on_average(database):
    place = place_of(database, "air", "station")
    return f"""
        with valid as (select * from air where degrees is not null)
        select moment, row_number() over ranked as rank, station, fsum(degrees::double) / count(*) as score
        from valid join {place} on station = text
            join {moments("valid", 6 * HOUR)} on us < moment and us >= moment - {DAY}
        group by moment, station, place
        window ranked as (partition by moment order by fsum(degrees::double) / count(*), place) qualify rank <= 3"""


def tags_of_weeks(database):
    place = place_of(database, "tags", "tag")
    return f"""
        with clock as (
            select min(timezone('Europe/Paris', ts)) as first, max(timezone('Europe/Paris', ts)) as last from tags),
        mondays as (select unnest(generate_series(date_trunc('week', first) + interval '7 days',
            date_trunc('week', last) + interval '7 days', interval '7 days')) as shown from clock),
        begun as (select epoch_us(timezone('Europe/Paris', shown)) as moment, label,
            epoch_us(timezone('Europe/Paris', shown - length)) as start from mondays, (values
            ('1 week in Europe/Paris', interval '7 days'), ('1 month in Europe/Paris', interval '1 month'))
            windows(label, length)),
        totals as (select moment, label, tag, count(*)::double as total
            from tags join begun on us < moment and us >= start group by all)
        select moment, label, row_number() over ranked as rank, tag, total,
            total / sum(total) over (partition by moment, label) as share, total, total
        from totals join {place} on tag = text
        window ranked as (partition by moment, label order by total desc, place) qualify rank <= 2"""


def same_pages(database):
    """All pairs of the clients of an hour, by a product of matrices."""
    visits = defaultdict(set)
    for us, client, url in database.sql("select distinct us, client, url from requests").fetchall():
        first = (us // (20 * MINUTE) + 1) * 20 * MINUTE
        for end in (first, first + 20 * MINUTE, first + 40 * MINUTE):
            visits[end].add((client, url))
    answers = []
    for end, pairs in visits.items():
        clients, urls = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
        rows = {client: row for row, client in enumerate(clients)}
        columns = {url: column for column, url in enumerate(urls)}
        opened = np.zeros((len(clients), len(urls)), np.float32)
        for client, url in pairs:
            opened[rows[client], columns[url]] = 1
        left, right = np.triu_indices(len(clients), 1)
        common = (opened @ opened.T)[left, right]
        best = np.lexsort((right, left, -common))[:3]
        chosen = [(clients[left[one]], clients[right[one]], float(common[one])) for one in best if common[one]]
        answers += [(end, rank, *pair) for rank, pair in enumerate(chosen, 1)]
    return answers


def repeated_questions(database):
    rows = database.sql("select us, question, tags from questions order by us, question").fetchall()
    return first_of_each_kind(rows, 7 * DAY, 0.6)


def first_of_each_kind(rows, window, threshold):
    """Each row of a time, an id and tokens against the kept ones of the window before it that share a token."""
    answers, kept = [], defaultdict(list)
    for us, name, its_tokens in rows:
        tokens, best = set(its_tokens), None
        oldest = {token: bisect_right(kept[token], us - window, key=itemgetter(0)) for token in tokens}
        near = {entry for token in tokens for entry in kept[token][oldest[token] :]}
        for number, earlier, others in near:
            common = len(tokens & others)
            similarity = common / (len(tokens) + len(others) - common)
            if similarity >= threshold and (best is None or (-similarity, number, earlier) < best):
                best = (-similarity, number, earlier)
        answers.append((us, name, best[2], best[1], -best[0]) if best else (us, name, None, None, None))
        if best is None:
            for token in tokens:
                kept[token].append((us, name, frozenset(tokens)))
    return answers


def means_of_readings(database):
    return f"""
        with each as (
            select *, list_sum(chances) as exists, list_dot_product(dust, chances) as expected from readings)
        select a.station, a.us, sum(b.expected / b.exists) as sum, sum(b.expected) as expected, count(*) as kept,
            sum(b.exists) as count, sum(b.expected) / sum(b.exists) as average, a.reading
        from each a join each b on a.station = b.station and b.us <= a.us and b.us > a.us - {DAY} group by all"""


def near_readings(database):
    rows = database.sql("select us, reading, station, dust, degrees, chances from readings order by us, reading")
    readings = [(*row[:3], list(zip(*row[3:], strict=True))) for row in rows.fetchall()]
    times, answers = [row[0] for row in readings], []
    for place, (us, reading, station, mine) in enumerate(readings):
        for _, earlier, other, theirs in readings[bisect_left(times, us - 3 * HOUR + 1) : place]:
            probability = sum(p * q for *a, p in mine for *b, q in theirs if dist(a, b) <= 2.5)
            if probability >= 0.5:
                answers.append((us, earlier, reading, probability, other, station))
    return answers


def clients_among_the_busiest(database):
    half = 30 * MINUTE
    database.sql(f"""
        create or replace table busiest as select moment as us, client from requests join {moments("requests", half)}
        on us < moment and us >= moment - {half} group by moment, client
        qualify row_number() over (partition by moment order by count(*) desc, client) <= 2""")
    return f"""
        select moment, label, count(distinct client) filter (us >= moment - length)::double as count, count, count
        from busiest join {moments("busiest", half, offset=1)} on us < moment and us >= moment - {2 * HOUR},
            (values ('30 minutes', {half}), ('2 hours', {2 * HOUR})) windows(label, length)
        group by all"""


ORACLES = {
    "How many different clients came, in the last ten minutes and the last hour, by status": distinct_clients,
    "Which pages caused the most bytes, by status": bytes_of_pages,
    "Which pages are missed most, and who asked last": missed_pages,
    "How many different pages did clients open so far today": pages_so_far_today,
    "What was traded most since the opening at 09:30": traded_since_the_opening,
    "Which exchanges had the largest trade of each symbol": largest_by_symbol,
    "Which were the largest trades, of several windows at once": largest_trades,
    "Which exchange had the smallest trade, each exchange once": smallest_by_exchange,
    "Which ten stations have the highest values now": highest_now,
    "Where was it coldest on average, below 0 too": coldest_on_average,
    "Which tags are asked about most, each week and month": tags_of_weeks,
    "Which clients opened the most of the same pages in the last hour": same_pages,
    "Which questions repeat another, and which is the first of its kind": repeated_questions,
    "What is the mean of doubtful readings in the last day": means_of_readings,
    "Which readings are near each other, by two values": near_readings,
    "How many different clients were among the busiest in the last two hours": clients_among_the_busiest,
}
"""Of each question the SQL of all rows of its answer, or those rows."""


def expected_rows(database, question: str) -> list[tuple]:
    found = ORACLES[question](database)
    return database.sql(found).fetchall() if isinstance(found, str) else found
