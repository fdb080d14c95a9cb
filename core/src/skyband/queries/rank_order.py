"""Which end of the scores an answer begins with: the key `order` of the queries that rank."""

from typing import Any

from skyband.config.parameters import choice

LARGEST, SMALLEST = "largest", "smallest"


def order_parameter(what: str) -> Any:
    """The field `order`, for a query that ranks `what`."""
    return choice(LARGEST, SMALLEST, default=LARGEST, help=f"which {what} rank first")


def score_order(order: str) -> str:
    """How Arrow sorts scores in this order."""
    return "descending" if order == LARGEST else "ascending"
