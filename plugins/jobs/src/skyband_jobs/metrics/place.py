"""The place of a job's `metrics`: a loopback port of this machine, or a file."""

import ipaddress
import os
import re
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen
from skyband.config.literals import literal
from skyband.errors import ConfigError, Problem

KEY = "metrics"
SUFFIX = ".prom"
_ADDRESS = re.compile(r"\[?(?P<host>[^\]/]*?)\]?:(?P<port>\d+)")


@frozen
class Endpoint:
    """A port of the loopback; 0: any free one."""

    host: str
    port: int


def place_of(value: object, folder: Path) -> Endpoint | Path:
    """Parse the key; a file is relative to the job's folder. Raises ConfigError where it is neither."""
    if not isinstance(value, str) or not value:
        raise _error(f'must be "127.0.0.1:9464" or a file such as "skyband.prom" (got {literal(value)})')
    address = _ADDRESS.fullmatch(value)
    if address is not None:
        return _endpoint(address["host"], int(address["port"]), value)
    if not value.endswith(SUFFIX):
        message = f"must be HOST:PORT, such as 127.0.0.1:9464, or a file whose name ends in {SUFFIX}"
        raise _error(f"{message}, as node_exporter requires (got {value!r})")
    return folder.absolute() / value


def problems_of(value: object, folder: Path) -> list[Problem]:
    """Problems with the key that can be found before a run."""
    try:
        place = place_of(value, folder)
    except ConfigError as error:
        return list(error.problems)
    if isinstance(place, Path):
        if not place.parent.is_dir():
            return [Problem(KEY, f"{str(place.parent)!r} is not a folder: create it, or name another file")]
        if place.is_dir() or not os.access(place.parent, os.W_OK):
            return [Problem(KEY, f"{str(place)!r} cannot be written: name a file in a folder that you can write to")]
    if find_spec("prometheus_client") is None:
        return [Problem(KEY, "needs prometheus-client: pip install 'skyband[metrics]'")]
    return []


def _endpoint(host: str, port: int, value: str) -> Endpoint:
    try:
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        message = "metrics are served to this machine only, because anyone could read them: use 127.0.0.1"
        raise _error(f"{message}, and a proxy that authenticates its clients (got {value!r})")
    if port > 65535:
        raise _error(f"must have a port of at most 65535 (got {value!r})")
    return Endpoint(host, port)


def _error(message: str) -> ConfigError:
    return ConfigError(Problem(KEY, message))
