"""`answers = "current"`, which is for jobs alone: their sink holds the newest answers."""

from skyband.errors import ConfigError, Problem
from skyband.queries.query import CHANGES, CURRENT, Query


def of_a_program(query: Query) -> Query:
    """The query, of a program that takes the answers itself. Raises ConfigError where they are a sink's to hold."""
    if query.answers == CURRENT:
        message = f'"{CURRENT}" is for a job, whose sink holds the newest answers'
        remedy = f'take "{CHANGES}", and give them to skyband.tables.open_sink(…, key={[*query.table_key]})'
        raise ConfigError(Problem("answers", f"{message}: {remedy}"))
    return query
