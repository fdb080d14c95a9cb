"""How the words of Sigma are those of a source: columns of fields, and conditions of log sources."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen
from skyband.errors import ConfigError, Problem
from skyband_expressions.row_conditions import condition_problem

from skyband_detect.sigma.refusals import RefusedError

_PARTS = ("product", "category", "service")


@frozen
class FieldMapping:
    """Columns by field, and the rows of log sources. A field without an entry is a column of its name."""

    fields: Mapping[str, str] = field(factory=dict)
    logsources: tuple[Mapping[str, str], ...] = ()
    """Each with product, category and service, as far as it needs them, and `where`, the condition of its rows."""
    any_logsource: bool = False
    """All rows are of the log source that a rule asks for."""

    def column_of(self, name: str) -> str:
        """The column of a field."""
        return self.fields.get(name, name)

    def rows_of(self, logsource: Any) -> str | None:
        """The condition of a log source's rows; None if it needs none. Raises RefusedError if it is not known."""
        if self.any_logsource or not logsource:
            return None
        if not isinstance(logsource, Mapping):
            raise RefusedError("logsource", f"must have product, category or service (got {logsource!r})")
        parts = {part: str(logsource[part]) for part in _PARTS if logsource.get(part)}
        for entry in self.logsources:
            if all(parts.get(part) == entry[part] for part in _PARTS if part in entry):
                return entry["where"]
        words = ", ".join(f'{part} = "{value}"' for part, value in parts.items())
        remedy = "add it with its `where` to the file of --mapping, or call with --any-logsource"
        raise RefusedError("logsource", f"which rows are of {words} is not known: {remedy}")


def read_mapping(path: Path | None, any_logsource: bool) -> FieldMapping:
    """The mapping of a file of TOML. Raises ConfigError, naming what is wrong with it."""
    if path is None:
        return FieldMapping(any_logsource=any_logsource)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(Problem(str(path), f"cannot be read as TOML: {error}")) from error
    problems = [Problem(key, "is unknown; there are fields and logsources") for key in content]
    problems = [problem for problem in problems if problem.field not in ("fields", "logsources")]
    fields, logsources = content.get("fields", {}), content.get("logsources", [])
    if not isinstance(fields, dict) or not all(isinstance(column, str) and column for column in fields.values()):
        problems.append(Problem("fields", 'must be columns by field, such as SourceIp = "address"'))
    if not isinstance(logsources, list) or not all(isinstance(entry, dict) for entry in logsources):
        problems.append(Problem("logsources", "must be tables with product, category or service, and where"))
    else:
        problems += [problem for place, entry in enumerate(logsources) for problem in _wrong(place, entry)]
    if problems:
        raise ConfigError(*(Problem(f"{path}: {problem.field}", problem.message) for problem in problems))
    return FieldMapping(fields, tuple(logsources), any_logsource)


def _wrong(place: int, entry: Mapping[str, Any]) -> list[Problem]:
    at = f"logsources[{place}]"
    unknown = [key for key in entry if key not in (*_PARTS, "where")]
    problems = [Problem(f"{at}.{key}", f"is unknown; there are {', '.join(_PARTS)} and where") for key in unknown]
    wrong = [part for part in _PARTS if part in entry and not isinstance(entry[part], str)]
    problems += [Problem(f"{at}.{part}", "must be text") for part in wrong]
    message = condition_problem(entry.get("where"))
    return problems if message is None else [*problems, Problem(f"{at}.where", message)]
