"""The dbt models of the page of recipes by trade, and the part of dbt that they call."""

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from recipes.page import TRADES, recipes
from skyband import text_tables

DBT = "How to ask in a dbt model"
IMPRESSIONS = recipes(TRADES)["How many people has a campaign reached"].steps[0][1]
"""The CSV of the table that the models read."""


class Dbt:
    """Answers what a model asks of dbt: its settings, and one table."""

    def __init__(self, impressions: Any) -> None:
        self.impressions = impressions
        self.settings: dict[str, Any] = {}

    def config(self, **settings: Any) -> None:
        self.settings |= settings

    def ref(self, name: str) -> Any:
        assert name == "impressions"
        return self.impressions


def models() -> list[Callable[[Dbt, Any], Any]]:
    """The page's models: that for Spark, then that for DuckDB, which reads the query of the first."""
    names: dict[str, Any] = {}
    found = []
    for language, body in recipes(TRADES)[DBT].steps:
        assert language == "python"
        exec(compile(body, "trades.md", "exec"), names)
        found.append(names["model"])
    return found


def printed(answers: pa.Table) -> str:
    """A table as the console sink prints it."""
    out = io.StringIO()
    text_tables.table(answers.column_names, zip(*(column.to_pylist() for column in answers.columns), strict=True), out)
    return out.getvalue()
