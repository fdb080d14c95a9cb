"""The answers to the recipes by trade, row by row: by DuckDB, or by plain Python."""

import re

from recipes.oracles import DAY, HOUR, MINUTE, first_of_each_kind, moments, place_of
from recipes.trade_rows import ACCOUNTS, BURN, CARDS, DEVICES, REACH, STORIES, TRENDING

FIVE = 5 * MINUTE


def burn_rates(database):
    """The answers of the first job: services by the share of failures."""
    place = place_of(database, "given", "service")
    return database.sql(f"""
        with totals as (
            select moment, label, service, sum(requests)::double as total,
                coalesce(sum(requests) filter (status >= 500), 0)::double as matching
            from given join {moments("given", FIVE)} on us < moment,
                (values ('5 minutes', {FIVE}), ('1 hour', {HOUR})) windows(label, length)
            where us >= moment - length group by all),
        shares as (select *, matching / total as part, total / sum(total) over (partition by moment, label) as share
            from totals)
        select moment, label, row_number() over (partition by moment, label order by part desc, place) as rank,
            service, part, part as low, part as high, matching, total, share
        from shares join {place} on service = text where total >= 500 and service is not null""").fetchall()


def alerts(database):
    """The answers of the second job: the services that burn too fast in both windows, as a log of changes."""
    burning, moment_before = {}, {}
    for moment, _, _, service, part, *_ in burn_rates(database):
        services = burning.setdefault(moment, {})
        services[service] = services.get(service, 0) + (part > 14.4 * 0.001)
    places = dict(database.sql("select text, place from place_of_service").fetchall())
    log = []
    for moment in sorted(burning):
        found = sorted((name for name, count in burning[moment].items() if count == 2), key=places.get)
        share = 2 / max(1, sum(burning[moment].values()))
        answer = {name: (rank, name, 2.0, share, 2.0, 2.0) for rank, name in enumerate(found, 1)}
        at = moment + 1
        log += [(at, "left", "5 minutes", *row) for name, row in moment_before.items() if name not in answer]
        log += [(at, "entered", "5 minutes", *row) for name, row in answer.items() if name not in moment_before]
        if moment_before and not answer:
            log.append((at, "emptied", "5 minutes", *[None] * 6))
        moment_before = answer
    return log


def many_accounts(database):
    place = place_of(database, "given", "address")
    return f"""
        with failed as (select * from given where not success),
        totals as (
            select moment, label, address, count(distinct account)::double as total
            from failed join {moments("failed", FIVE)} on us < moment,
                (values ('5 minutes', {FIVE}), ('1 hour', {HOUR})) windows(label, length)
            where us >= moment - length group by all),
        shares as (select *, total / sum(total) over (partition by moment, label) as share from totals)
        select moment, label, row_number() over (partition by moment, label order by total desc, place) as rank,
            address, total, share, total as low, total as high
        from shares join {place} on address = text where total >= 3"""


def earlier_logins(database):
    return f"""
        select account, device, us, (select count(*) from given earlier where earlier.account = given.account
            and earlier.device = given.device and earlier.us >= given.us - {30 * DAY} and earlier.us < given.us)
        from given"""


def velocities(database):
    features = ", ".join(
        f"""count(*) filter (b.us > a.us - {length}),
            (sum(round(b.amount * 100)::bigint) filter (b.us > a.us - {length})) / 100,
            count(distinct b.country) filter (b.us > a.us - {length})"""
        for length in (10 * MINUTE, DAY)
    )
    return f"""
        select a.card, a.us, {features}, a.payment
        from given a join given b on a.card = b.card and b.us <= a.us and b.us > a.us - {DAY}
        group by a.card, a.us, a.payment"""


def reach(database):
    """Midnight in Paris is at 22:00 UTC: all rows are of a summer."""
    return f"""
        select campaign, channel, if(grouping(channel) = 0, 'campaign, channel', 'campaign'), moment, label,
            count(distinct person) filter (us >= moment - length)::double as count, count as low, count as high
        from given join {moments("given", DAY, -2 * HOUR)} on us < moment,
            (values ('1 day in Europe/Paris', {DAY}), ('ever', moment)) windows(label, length)
        group by grouping sets ((campaign, channel, moment, label), (campaign, moment, label))"""


def trending(database):
    place = place_of(database, "given", "topic")
    return f"""
        with totals as (select moment, topic, fsum(pow(2, (us - moment) / {HOUR})) as total
            from given join {moments("given", HOUR)} on us < moment and us >= moment - {DAY} group by all)
        select moment, '1 day', row_number() over (partition by moment order by total desc, place) as rank, topic,
            total, total as low, total as high
        from totals join {place} on topic = text qualify rank <= 2"""


def repeated_stories(database):
    rows = database.sql("select us, story, source, title from given order by us, story").fetchall()
    sources = {story: source for _, story, source, _ in rows}
    tokens = [(us, story, re.findall(r"[^\W_]+", title.lower())) for us, story, _, title in rows]
    found = first_of_each_kind(tokens, 2 * DAY, 0.7)
    return [(*answer, sources[answer[1]], sources.get(answer[2])) for answer in found]


ORACLES = {
    BURN: alerts,
    ACCOUNTS: many_accounts,
    DEVICES: earlier_logins,
    CARDS: velocities,
    REACH: reach,
    TRENDING: trending,
    STORIES: repeated_stories,
}
"""Of each question the SQL of all rows of its last job's answers, or those rows."""


def expected_rows(database, question):
    found = ORACLES[question](database)
    return database.sql(found).fetchall() if isinstance(found, str) else found
