"""The job keys of formats whose tables are on a server, at a URL."""

from collections.abc import Mapping
from typing import Any, ClassVar

from skyband.errors import ConfigError, Problem, suggest
from skyband_jobs.formats import Format, TableKeys

_PATIENCE = "retry_seconds"


class ServerFormat(Format):
    """A table is `table` at the server of `url`; the option `retry_seconds` is how long to wait for a server that is
    away."""

    name: ClassVar[str]
    """The name of the format in jobs."""
    what: ClassVar[str]
    """What is at the URL, for messages."""
    own_options: ClassVar[tuple[str, ...]] = ()
    """The options other than `retry_seconds`."""

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        further = {name: value for name, value in options.items() if name != "table"}
        keys = TableKeys(url=place, table=options.get("table"), options=further)
        problems = self.check(keys, on_spark=False)
        if problems:
            raise ConfigError(*problems)
        return keys

    def _key_problems(self, keys: TableKeys) -> list[Problem]:
        """Problems with its keys, except `table` and `url`, which each format checks itself."""
        remedies = (("path", f"is for files: name the {self.what} with url"), ("catalog", "remove it"))
        problems = [
            Problem(name, f"{remedy} (got format {self.name!r})") for name, remedy in remedies if getattr(keys, name)
        ]
        options = (*self.own_options, _PATIENCE)
        problems += [
            Problem(f"options.{name}", f"is not an option of {self.name}; {suggest(name, options)}")
            for name in keys.options
            if name not in options
        ]
        text = str(keys.options.get(_PATIENCE, 0))
        if not text.replace(".", "", 1).isdecimal():
            problems.append(Problem(f"options.{_PATIENCE}", f"must be a number of seconds (got {text!r})"))
        return problems

    def _patience(self, keys: TableKeys, otherwise: float) -> float:
        return float(keys.options.get(_PATIENCE, otherwise))
