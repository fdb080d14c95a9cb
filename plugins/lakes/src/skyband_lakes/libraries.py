"""The libraries behind the formats, each an extra of this distribution, imported on first use."""

from importlib import import_module
from typing import Any

from attrs import frozen
from skyband_jobs.formats.extras import imported, missing

_DISTRIBUTION = "skyband-lakes"


@frozen
class Library:
    """A library that an extra installs."""

    name: str
    extra: str

    def missing(self) -> str | None:
        """How to install it if it is missing, else None."""
        return missing(self.name, self.extra, _DISTRIBUTION)

    def imported(self, module: str = "") -> Any:
        """Import it, or a module of it. Raises EngineError, with the command to install it, if it is missing."""
        library = imported(self.name, self.extra, _DISTRIBUTION)
        return import_module(f"{self.name}.{module}") if module else library


DELTA = Library("deltalake", "delta")
ICEBERG = Library("pyiceberg", "iceberg")
KAFKA = Library("confluent_kafka", "kafka")
SQL = Library("sqlalchemy", "sql")
REDIS = Library("redis", "redis")
