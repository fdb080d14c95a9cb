"""What formats of a server have alike, whose tables are at a URL and not in files: their keys."""

from collections.abc import Mapping
from typing import Any, ClassVar

from skyband.errors import ConfigError, Problem, suggest
from skyband_jobs.formats import Format, TableKeys

_PATIENCE = "retry_seconds"


class ServerFormat(Format):
    """A table is `table` at the server of `url`; the option `retry_seconds` says how long one that is away is waited
    for."""

    name: ClassVar[str]
    """As jobs have it."""
    what: ClassVar[str]
    """That is at the URL."""
    own_options: ClassVar[tuple[str, ...]] = ()
    """Besides `retry_seconds`."""

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        further = {name: value for name, value in options.items() if name != "table"}
        keys = TableKeys(url=place, table=options.get("table"), options=further)
        problems = self.check(keys, on_spark=False)
        if problems:
            raise ConfigError(*problems)
        return keys

    def _key_problems(self, keys: TableKeys) -> list[Problem]:
        """What is wrong with its keys but for `table` and `url`, which each format has its own words for."""
        remedies = (("path", f"is of files: name the {self.what} with url"), ("catalog", "drop it"))
        problems = [
            Problem(name, f"{remedy} (got format {self.name!r})") for name, remedy in remedies if getattr(keys, name)
        ]
        options = (*self.own_options, _PATIENCE)
        problems += [
            Problem(f"options.{name}", f"is not known to {self.name}; {suggest(name, options)}")
            for name in keys.options
            if name not in options
        ]
        text = str(keys.options.get(_PATIENCE, 0))
        if not text.replace(".", "", 1).isdecimal():
            problems.append(Problem(f"options.{_PATIENCE}", f"must be a number of seconds (got {text!r})"))
        return problems

    def _patience(self, keys: TableKeys, otherwise: float) -> float:
        return float(keys.options.get(_PATIENCE, otherwise))
