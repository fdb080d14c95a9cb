"""How long to wait for a database or server that is away, with a clock that advances only when it is read."""

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
"""Seconds of the longest pause, and of a reading of the clock."""


class Clock:
    def __init__(self):
        self.now, self.pauses = 0.0, []

    def monotonic(self):
        self.now += LOOK
        return self.now

    def sleep(self, seconds):
        assert self.now < 1000, "it waits forever"
        self.pauses.append(seconds)
        self.now += seconds


def of_sqlite(kind, name):
    cause = sqlite3.OperationalError(name)
    cause.sqlite_errorname = name
    return kind("", {}, cause)


def away(kind):
    """A class, a URL for it, and the error of calling it while it is away."""
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
def test_a_server_that_is_away_is_waited_for_as_long_as_configured(kind, patience, seconds, clock):
    """In pauses that double up to two seconds, so that its return is noticed soon with few calls."""
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
def test_once_does_not_wait(kind, clock):
    made, url, error = away(kind)

    def work(_):
        raise error()

    with pytest.raises(EngineError, match="run again"):
        made(url, 60.0).once(work)
    assert clock.pauses == []


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_a_row_just_written_by_another_client_is_retried_two_times(failures, clock):
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
def test_permanent_errors_are_not_waited_for(error, clock):
    def work(_):
        raise error("no")

    with pytest.raises(EngineError, match="check its URL"):
        Server("redis://nowhere", 60.0).until_done(work)
    assert clock.pauses == []


def test_a_silent_server_is_given_up_during_a_call():
    options = Server("redis://nowhere")._connected().connection_pool.connection_kwargs
    assert 0 < options["socket_connect_timeout"] <= 60
    assert 0 < options["socket_timeout"] <= 60
