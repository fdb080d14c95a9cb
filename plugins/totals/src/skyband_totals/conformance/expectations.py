"""Compares answers with exact ones, and bounds with the truth."""

from collections import Counter
from typing import Any

from skyband_specs.check import expect_equal

from skyband_totals.top import UNKNOWN, Top

ROUNDING = 1e-9
"""The relative tolerance."""


def expect_exact(top: Top, answer: Any, what: str) -> None:
    """Raise AssertionError unless these are the objects and totals of an answer, in order."""
    expect_equal((top.objects.tolist(), top.totals.tolist()), (answer.objects, answer.totals), what)
    if top.objects_in_all != UNKNOWN:
        expect_equal(top.objects_in_all, answer.objects_in_all, f"{what}: the number of objects")


def fault_of(top: Top, truth: Counter[int], unit: float) -> str:
    """The fault of an answer, or an empty text."""
    for key, low, high in zip(top.objects.tolist(), top.low.tolist(), top.high.tolist(), strict=True):
        if not low - ROUNDING <= truth[key] * unit <= high + ROUNDING:
            return f"object {key} has {truth[key] * unit}, its bounds are {low} to {high}"
    if top.objects_in_all not in (UNKNOWN, len(+truth)):
        return f"there are {len(+truth)} objects, not {top.objects_in_all}"
    answered = set(top.objects.tolist())
    largest = max((total * unit for key, total in truth.items() if key not in answered), default=0.0)
    if largest > top.rest + ROUNDING:
        return f"an object that is not in the answer has {largest}, rest is {top.rest}"
    grand = sum(truth.values()) * unit
    if not top.grand_low - ROUNDING <= grand <= top.grand_high + ROUNDING:
        return f"the grand total is {grand}, its bounds are {top.grand_low} to {top.grand_high}"
    return ""
