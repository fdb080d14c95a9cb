"""Decimals as each locale writes them, and the first value that is not in the format of its column."""

from decimal import Decimal

import pyarrow as pa
import pytest
from skyband.errors import InputError
from skyband_jobs.files.text_values import typed, typed_where_right
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


@pytest.mark.parametrize("place", [0, 3, 7])
@pytest.mark.parametrize(
    ("kind", "good", "formats"),
    [
        (pa.decimal128(9, 2), "1.234,5", ValueFormats(locale="de-DE")),
        (pa.timestamp("us", "UTC"), "31.01.2026 10:20", ValueFormats(timestamp="dd.MM.yyyy HH:mm")),
        (pa.date32(), "31/01/2026", ValueFormats(date="dd/MM/yyyy")),
    ],
)
def test_the_first_value_that_is_not_in_the_format_is_told(kind, good, formats, place):
    batch = pa.record_batch({"d": pa.array([good] * place + ["x"] + [good, "y"])})
    with pytest.raises(InputError, match="x") as raised:
        typed(batch, pa.schema([("d", kind)]), formats)
    assert raised.value.row == place
    right, errors = typed_where_right(batch, pa.schema([("d", kind)]), formats)
    assert len(right) == place + 1 and [error.row for error in errors] == [place, place + 2]


@pytest.mark.parametrize(
    "kind",
    [pa.int32(), pa.float64(), pa.decimal128(9, 2), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC"), pa.string()],
    ids=str,
)
def test_nothing_between_quotes_is_a_text_and_no_other_value(kind):
    batch = pa.record_batch({"d": pa.array(["", " ", None])})
    (column,) = typed(batch, pa.schema([("d", kind)])).columns
    assert column.to_pylist() == (["", " ", None] if kind == pa.string() else [None] * 3)
