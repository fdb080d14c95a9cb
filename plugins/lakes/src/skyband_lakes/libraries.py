"""The libraries behind the formats, each an extra of this distribution, imported when one is first needed."""

from importlib import import_module
from typing import Any

from attrs import frozen
from skyband_jobs.formats.extras import imported, missing

_DISTRIBUTION = "skyband-lakes"


@frozen
class Library:
    """A library that comes with an extra."""

    name: str
    extra: str

    def missing(self) -> str | None:
        """What to install, where it is not there; None where it is."""
        return missing(self.name, self.extra, _DISTRIBUTION)

    def imported(self, module: str = "") -> Any:
        """It, or a module of it. Raises EngineError, saying what to install, where it is not there."""
        library = imported(self.name, self.extra, _DISTRIBUTION)
        return import_module(f"{self.name}.{module}") if module else library


DELTA = Library("deltalake", "delta")
ICEBERG = Library("pyiceberg", "iceberg")
KAFKA = Library("confluent_kafka", "kafka")
SQL = Library("sqlalchemy", "sql")
REDIS = Library("redis", "redis")
