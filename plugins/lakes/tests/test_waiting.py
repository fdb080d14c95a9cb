"""How long a database or a server that is away is waited for, by a clock that only goes on while it is looked at."""

import sqlite3
from contextlib import nullcontext

import pytest
from skyband.errors import ConfigError, EngineError
from skyband_lakes.redis import server
from skyband_lakes.redis.server import Server
from skyband_lakes.sql import database
from skyband_lakes.sql.database import Database

exceptions = pytest.importorskip("redis.exceptions")
errors = pytest.importorskip("sqlalchemy.exc")
LONGEST, LOOK = 2.0, 0.001
"""Seconds of a pause at most, and of a look at the clock."""


class Clock:
    def __init__(self):
        self.now, self.pauses = 0.0, []

    def monotonic(self):
        self.now += LOOK
        return self.now

    def sleep(self, seconds):
        assert self.now < 1000, "it waits for ever"
        self.pauses.append(seconds)
        self.now += seconds


def of_sqlite(kind, name):
    cause = sqlite3.OperationalError(name)
    cause.sqlite_errorname = name
    return kind("", {}, cause)


def away(kind):
    """A class of what is at a URL, such a URL, and what asking it raises while it is away."""
    if kind == "sql":
        return Database, "sqlite://", lambda: of_sqlite(errors.OperationalError, "SQLITE_BUSY")
    return Server, "redis://nowhere", lambda: exceptions.ConnectionError("refused")


@pytest.fixture
def clock(monkeypatch):
    one = Clock()
    monkeypatch.setattr(database, "time", one)
    monkeypatch.setattr(server, "time", one)
    monkeypatch.setattr(Server, "_connected", lambda self: nullcontext())
    return one


@pytest.mark.parametrize("seconds", [0.0, 0.3, 4.0, 29.0, 100.0])
@pytest.mark.parametrize("patience", [0.0, 0.5, 5.0, 30.0])
@pytest.mark.parametrize("kind", ["sql", "redis"])
def test_what_is_away_is_waited_for_as_long_as_was_asked_and_no_longer(kind, patience, seconds, clock):
    """In pauses that double, up to two seconds: what is back is found soon, and what is not is asked seldom."""
    made, url, error = away(kind)

    def work(_):
        if clock.now < seconds:
            raise error()
        return "done"

    if seconds <= patience:
        assert made(url, patience).until_done(work) == "done"
        assert clock.now < 2 * seconds + 0.2 and clock.now < seconds + LONGEST + 0.1
    else:
        with pytest.raises(EngineError, match="run again"):
            made(url, patience).until_done(work)
        assert patience < clock.now < patience + LONGEST + 0.1
    assert clock.pauses == [min(0.1 * 2**turn, LONGEST) for turn in range(len(clock.pauses))]


@pytest.mark.parametrize("kind", ["sql", "redis"])
def test_what_is_asked_once_is_not_waited_for(kind, clock):
    made, url, error = away(kind)

    def work(_):
        raise error()

    with pytest.raises(EngineError, match="run again"):
        made(url, 60.0).once(work)
    assert clock.pauses == []


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_a_row_that_someone_else_has_just_written_is_met_two_times(failures, clock):
    turns = []

    def work(_):
        turns.append(1)
        if len(turns) <= failures:
            raise of_sqlite(errors.IntegrityError, "SQLITE_CONSTRAINT_UNIQUE")
        return "done"

    if failures <= 2:
        assert Database("sqlite://", 60.0).until_done(work) == "done"
    else:
        with pytest.raises(ConfigError, match="SQLITE_CONSTRAINT_UNIQUE"):
            Database("sqlite://", 60.0).until_done(work)
    assert len(turns) == min(failures + 1, 3)


@pytest.mark.parametrize("error", [exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.DataError])
def test_what_does_not_pass_is_not_waited_for(error, clock):
    def work(_):
        raise error("no")

    with pytest.raises(EngineError, match="look at its URL"):
        Server("redis://nowhere", 60.0).until_done(work)
    assert clock.pauses == []


def test_a_server_that_says_nothing_is_given_up_while_it_is_called_and_asked():
    options = Server("redis://nowhere")._connected().connection_pool.connection_kwargs
    assert 0 < options["socket_connect_timeout"] <= 60
    assert 0 < options["socket_timeout"] <= 60
