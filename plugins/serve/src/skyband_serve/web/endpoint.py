"""What an endpoint of the port is, and what it gets and gives."""

from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen
from skyband_jobs.job.checked_job import CheckedJob

from skyband_serve.published import Board, Published
from skyband_serve.web.figures import Figures
from skyband_serve.web.query_string import Option, Request
from skyband_serve.web.worker import Work


@frozen
class Service:
    """What requests are answered from."""

    job: CheckedJob
    board: Board
    figures: Figures


@frozen
class Inquiry:
    """A request, as an endpoint gets it."""

    service: Service
    now: Published
    """The job as of one turn: everything in the reply is of it."""
    request: Request
    arrow: bool
    """Whether the reply may be Arrow, and should be."""
    accept: str
    trusted: bool
    """Whether it had the token, if there is one."""


@frozen
class Reply:
    """The body of a reply, and its type."""

    body: bytes
    media_type: str = "application/json"
    status: int = 200


def _none() -> Sequence[Option]:
    return ()


@frozen
class Endpoint:
    """A path, its parameters, and how it is answered."""

    path: str
    summary: str
    answer: Callable[[Inquiry], Reply | Work]
    """A reply, or work for the thread that asks."""
    options: Callable[[], Sequence[Option]] = _none
    of_groups: bool = False
    """Whether `group.COLUMN` chooses groups."""
    arrow: bool = False
    """Whether the reply may be an Arrow stream."""
    is_open: bool = False
    """Whether it is answered without the token."""
    media_type: str = "application/json"
    statuses: Mapping[int, str] = field(factory=dict)
    """Further statuses, with what they mean."""
