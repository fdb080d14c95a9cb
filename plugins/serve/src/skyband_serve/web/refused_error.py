"""Why a request gets no answer."""

from collections.abc import Mapping
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({})


class RefusedError(Exception):
    """A request that is answered by a status and a reason."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] = NOTHING) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers
