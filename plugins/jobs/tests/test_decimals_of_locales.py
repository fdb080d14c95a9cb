"""Decimals are read as each locale writes them: plain, with thousands apart, with a sign, and with an exponent."""

from decimal import Decimal

import pyarrow as pa
import pytest
from skyband_jobs.files.text_values import typed
from skyband_jobs.files.value_formats import LOCALES, ValueFormats

NUMBERS = ["0", "7", "-12", "1234567", "0.5", "-1234.25", "1234567.125"]
KIND = pa.schema([("d", pa.decimal128(20, 3))])


def written(number, thousands, point):
    """A number as it is written where these marks are usual."""
    sign, (whole, _, fraction) = number[: number[0] == "-"], number.lstrip("-").partition(".")
    apart = f"{int(whole):,}".replace(",", thousands)
    rest = point + fraction if fraction else ""
    return {f"{sign}{whole}{rest}": 1, f"{sign}{apart}{rest}": 1, f"{sign}{whole}{rest}E2": 100}


@pytest.mark.parametrize("locale", LOCALES)
def test_a_number_is_read_as_its_locale_writes_it(locale):
    texts = {text: times * Decimal(number) for number in NUMBERS
             for text, times in written(number, *LOCALES[locale]).items()}  # fmt: skip
    batch = pa.record_batch({"d": pa.array([*texts])})
    (column,) = typed(batch, KIND, ValueFormats(locale=locale)).columns
    assert dict(zip(texts, column.to_pylist(), strict=True)) == texts
