"""Text becomes the values that Spark makes of it, by casts and in files, or is refused as known to Spark only."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import InputError
from skyband_expressions.expression import parse_column
from text_forms import BOOLEANS, NUMBERS, TIMES, texts_near

pytestmark = pytest.mark.spark

KINDS = {
    "TIMESTAMP": TIMES, "DATE": TIMES, "TINYINT": NUMBERS, "SMALLINT": NUMBERS, "INT": NUMBERS, "BIGINT": NUMBERS,
    "FLOAT": NUMBERS, "DOUBLE": NUMBERS, "BOOLEAN": BOOLEANS,
}  # fmt: skip
REFUSED = "Spark only"


def plain(kind, name="v"):
    """As numbers or text, which both sides show alike."""
    if kind == "TIMESTAMP":
        return f"unix_micros({name})"
    return (
        f"CAST({name} AS STRING)"
        if kind in ("DATE", "BOOLEAN")
        else f"CAST({name} AS DOUBLE)"
        if kind == "FLOAT"
        else name
    )


@pytest.mark.parametrize("kind", KINDS)
def test_casts_of_texts_near_each_form(session, tmp_path, kind):
    texts = texts_near(KINDS[kind], 7, 3_000)
    pq.write_table(pa.table({"n": pa.array(range(len(texts))), "t": texts}), tmp_path / "t.parquet")
    cast = plain(kind, f"TRY_CAST(t AS {kind})")
    frame = session.read.parquet(str(tmp_path)).orderBy("n")
    there = [repr(value) for value in frame.selectExpr(f"{cast} AS v").toArrow()["v"].to_pylist()]
    expression, _ = parse_column(f"{cast} AS v")
    differing, refused = {}, 0
    for text, value in zip(texts, there, strict=True):
        try:
            here = repr(*expression.evaluate(pa.RecordBatch.from_pydict({"t": [text]})).to_pylist())
        except InputError as error:
            here = error.message
        if REFUSED in here:
            refused += 1
        elif here != value:
            differing[text] = (here, value)
    assert differing == {}
    assert refused < len(texts) / 8
    assert there.count("None") < 0.99 * len(texts)
