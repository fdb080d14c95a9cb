"""A followed log that tells its lag, or does not: whether a turn waits for the trigger."""

from itertools import product

import pytest
from skyband_jobs.formats import Followed
from skyband_jobs.tables.model import Source
from skyband_serve.table_followed import _ROWS_A_TURN, FollowedTable


class Log(Followed):
    """A log of a format that may know its lag."""

    offset = "here"
    caught_up, lag = False, {}

    def resume(self, offset):
        raise NotImplementedError

    def next_part(self, most):
        return None

    def rows(self, part):
        raise NotImplementedError

    def took(self, part):
        raise NotImplementedError


LAGS = (
    {},
    {"0": 0},
    {"0": _ROWS_A_TURN},
    {"0": _ROWS_A_TURN + 1},
    {"0": _ROWS_A_TURN, "1": 0},
    {"0": _ROWS_A_TURN, "1": 1},
)


@pytest.mark.parametrize(("lag", "caught_up"), [*product(LAGS, [False, True])])
@pytest.mark.parametrize("options", [{}, {"maxOffsetsPerTrigger": 5}, {"maxbytespertrigger": 5}])
def test_a_backlog_of_more_than_a_turn_does_not_wait(lag, caught_up, options):
    """Where the lag is not known, it is behind until it has caught up; a limit of the job holds for each trigger."""
    log = Log()
    log.lag, log.caught_up = lag, caught_up
    source = FollowedTable(Source("kafka", stream=True, options=options), None, log)
    is_behind = sum(lag.values()) > _ROWS_A_TURN if lag else not caught_up
    assert source.is_behind == (is_behind and not options)
