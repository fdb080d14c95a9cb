"""Quantiles and limits, as keys of the query and as parameters of questions to states."""

from typing import Any

from skyband.config.parameters import checked

from skyband_quantiles.ranks import fault_of_share
from skyband_quantiles.sketch_parameters import MOST_CUTS, as_numbers, checked_list, fault_of_limit

MOST_QUANTILES = 1000


def quantiles_parameter(kind: str, help: str) -> Any:
    """A field of quantiles, as shares of the rows at or below them. kind: the name of the type."""
    return checked(
        (), type=kind, check=checked_list(fault_of_share, "[0.5, 0.99]", MOST_QUANTILES), converter=as_numbers,
        bounds="each from 0 to 1, of at most nine decimals", help=help,
    )  # fmt: skip


def limits_parameter(kind: str) -> Any:
    """A field of limits, few enough to be the `cuts` of a sketch."""
    return checked(
        (), type=kind, check=checked_list(fault_of_limit, "[400]", MOST_CUTS), converter=as_numbers,
        bounds=f"at most {MOST_CUTS}", help="numbers, to get the share of the rows above each",
    )  # fmt: skip
