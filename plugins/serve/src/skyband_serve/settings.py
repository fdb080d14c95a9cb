"""The table `[serve]` of a job: how it is run as a service, and the port that answers questions."""

import ipaddress
import re
from typing import Any

from attrs import define, frozen
from skyband.config.durations import Duration, clock_problem, parsed
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice
from skyband.errors import ConfigError, Problem

NOWHERE = "none"
"""The value of `http` that opens no port."""
FEWEST_LETTERS = 32
"""The fewest characters of a token: it must not be guessed, as nothing limits how often one may be tried."""
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[A-Za-z0-9.-]+)):(?P<port>[0-9]{1,5})")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_MOST_PORT = 65_535


@frozen
class Address:
    """An address of this machine to listen on; port 0: any free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str) -> Address | None:
    """Parse HOST:PORT; None if it is not one."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > _MOST_PORT:
        return None
    return Address(match["six"] or match["host"], int(match["port"]))


def _http_problem(value: Any) -> str | None:
    if isinstance(value, str) and (value == NOWHERE or address_of(value) is not None):
        return None
    return f'must be HOST:PORT, such as "127.0.0.1:8080", or "{NOWHERE}" (got {literal(value)})'


def _token_problem(value: Any) -> str | None:
    """The problem with a token, which is never shown."""
    if not isinstance(value, str):
        return f"must be text of at least {FEWEST_LETTERS} characters"
    if len(value) < FEWEST_LETTERS:
        return f"must have at least {FEWEST_LETTERS} characters (got {len(value)}): `openssl rand -hex 32` makes one"
    if _TOKEN.fullmatch(value) is None:
        return "must consist of letters, digits and -._~+/, with = only at its end, as HTTP sends no others"
    return None


def _length(default: str, help: str) -> Any:
    return checked(default, type="duration", check=clock_problem, converter=parsed, help=help)


@define
class ServeSettings:
    """How the job runs as a service, and where it answers over HTTP."""

    http: str = checked(
        NOWHERE,
        type="str",
        check=_http_problem,
        help="where it answers over HTTP, such as 127.0.0.1:8080; an address that other machines reach needs a token",
    )
    token: str | None = checked(
        None,
        type="str",
        check=_token_problem,
        bounds=f"at least {FEWEST_LETTERS} characters",
        help="what requests must send as `Authorization: Bearer …`, such as ${TOKEN}; never shown",
    )
    keep: Duration = _length("1 hour", "how long /answers keeps answers, of 64 MB at most")
    commit: Duration = _length(
        "10 seconds", "how often the state is saved: at most this much is done again after a stop"
    )
    durability: str = choice(
        "disk", "process", default="disk",
        help="what no row is lost or doubled by: a loss of power too, or only the end of the process, which is faster",
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        if self.token is None and self.address is not None and not self.address.is_loopback:
            message = f"is required, as other machines reach http = {self.http!r}: set it to ${{TOKEN}}, a variable of"
            remedy = f"the environment of at least {FEWEST_LETTERS} characters, or listen on 127.0.0.1"
            raise ConfigError(Problem("token", f"{message} {remedy}"))

    @property
    def address(self) -> Address | None:
        """Where it listens; None: nowhere."""
        return address_of(self.http)
