"""The functions on states as Spark takes them: Arrow columns in and out, the backends named by the driver.

The window is one argument: text such as "37 minutes" is the length up to the state's moment, a timestamp or a whole
number the moment it begins, null all that the state covers.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import arrow_udf

from skyband import states
from skyband.errors import InputError
from skyband.states.state import Readers

ESTIMATE = "struct<count: double, low: double, high: double>"
OVERLAP = (
    "struct<"
    + ", ".join(
        f"`{name}`: {ESTIMATE}"
        for name in ("left", "right", "union", "intersection", "left_only", "right_only", "jaccard")
    )
    + ", method: string>"
)
HEAVY_HITTERS = (
    "array<struct<`rank`: bigint, `object`: string, total: double, `share`: double, low: double, high: double>>"
)
DESCRIPTION = (
    "struct<backend: string, parameters: map<string, string>, unit: string, at: bigint, since: bigint, "
    "latest: bigint, retained: bigint, bytes: bigint, changed: boolean>"
)


def estimate_udf() -> Any:
    """(state, window) -> struct of count, low, high."""
    readers = Readers.installed()

    def estimate(state: pa.Array, window: pa.Array) -> pa.Array:
        return states.estimates(state, readers=readers, **_asked(window))

    return arrow_udf(estimate, ESTIMATE)


def estimate_between_udf() -> Any:
    """(state, window, low, high) -> struct of count, low, high of the items whose latest value is in a range."""
    readers = Readers.installed()

    def estimate_between(state: pa.Array, window: pa.Array, low: pa.Array, high: pa.Array) -> pa.Array:
        name, windows = next(iter(_asked(window).items()))
        found = []
        for row, blob in enumerate(state):
            asked = None if windows is None else window[row].as_py()
            ends = low[row].as_py(), high[row].as_py()
            missing = not blob.is_valid or (windows is not None and asked is None)
            one = None if missing else states.estimate([blob], readers=readers, between=ends, **{name: asked})
            found.append(one and one._asdict())
        return pa.array(found, _ESTIMATE)

    return arrow_udf(estimate_between, ESTIMATE)


def union_udf() -> Any:
    """An aggregate of states to the state of all their rows; null of no states."""
    readers = Readers.installed()

    def union(state: pa.Array) -> bytes | None:
        return _union(state, readers)

    union.__annotations__["return"] = pa.Scalar  # what tells Spark that it is an aggregate
    return arrow_udf(union, "binary")


def union_list_udf() -> Any:
    """(array of states) -> the state of all their rows: for streams, which refuse Python's aggregates."""
    readers = Readers.installed()

    def union_list(state: pa.Array) -> pa.Array:
        return pa.array([_union(row.values, readers) if row.is_valid else None for row in state], pa.binary())

    return arrow_udf(union_list, "binary")


def overlap_udf() -> Any:
    """(state, state, window) -> struct of estimates: union, intersection, differences, Jaccard similarity."""
    readers = Readers.installed()

    def overlap(left: pa.Array, right: pa.Array, window: pa.Array) -> pa.Array:
        name = next(iter(_asked(window)))
        found = []
        for row in range(len(left)):
            pair = left[row].as_py(), right[row].as_py()
            asked = {name: window[row].as_py()}
            found.append(None if None in pair else _plain(states.overlap(*pair, readers=readers, **asked)))
        return pa.array(found, _OVERLAP)

    return arrow_udf(overlap, OVERLAP)


def theta_udf() -> Any:
    """(state, window) -> a theta sketch."""
    readers = Readers.installed()

    def theta(state: pa.Array, window: pa.Array) -> pa.Array:
        name, given = next(iter(_asked(window).items()))
        found = []
        for row, blob in enumerate(state):
            asked = None if given is None else window[row].as_py()
            missing = not blob.is_valid or (given is not None and asked is None)
            found.append(None if missing else states.theta([blob], readers=readers, **{name: asked}))
        return pa.array(found, pa.binary())

    return arrow_udf(theta, "binary")


def heavy_hitters_udf() -> Any:
    """(state, window, k) -> array of structs: the objects with the largest totals, as text."""
    readers = Readers.installed()

    def heavy_hitters(state: pa.Array, window: pa.Array, k: pa.Array) -> pa.Array:
        name, given = next(iter(_asked(window).items()))
        found: list[Any] = []
        for row, blob in enumerate(state):
            asked = None if given is None else window[row].as_py()
            if not blob.is_valid or (given is not None and asked is None):
                found.append(None)
                continue
            table = states.heavy_hitters([blob], k=k[row].as_py(), readers=readers, **{name: asked})
            place = table.column_names.index("object")
            named = table.set_column(place, "object", table.column("object").cast(pa.string()))
            found.append(named.to_pylist())
        return pa.array(found, _HEAVY_HITTERS)

    return arrow_udf(heavy_hitters, HEAVY_HITTERS)


def describe_udf() -> Any:
    """(state) -> struct of what it says of itself."""
    readers = Readers.installed()

    def describe(state: pa.Array) -> pa.Array:
        blobs = [blob.as_py() for blob in state]
        return pa.array([None if blob is None else _described(blob, readers) for blob in blobs], _DESCRIPTION)

    return arrow_udf(describe, DESCRIPTION)


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "skyband_estimate": estimate_udf,
    "skyband_estimate_between": estimate_between_udf,
    "skyband_union": union_udf,
    "skyband_union_list": union_list_udf,
    "skyband_overlap": overlap_udf,
    "skyband_theta": theta_udf,
    "skyband_heavy_hitters": heavy_hitters_udf,
    "skyband_describe": describe_udf,
}
"""By the name under which SQL knows them."""

_ESTIMATE = pa.struct([(name, pa.float64()) for name in ("count", "low", "high")])
_OVERLAP = pa.struct(
    [
        *((name, _ESTIMATE) for name in states.Overlap._fields if name != "method"),
        ("method", pa.string()),
    ]
)
_HEAVY_HITTERS = pa.list_(
    pa.struct(
        [
            ("rank", pa.int64()), ("object", pa.string()), *((name, pa.float64()) for name in ("total", "share")),
            *((name, pa.float64()) for name in ("low", "high")),
        ]
    )
)  # fmt: skip
_DESCRIPTION = pa.struct(
    [
        ("backend", pa.string()), ("parameters", pa.map_(pa.string(), pa.string())), ("unit", pa.string()),
        ("at", pa.int64()), ("since", pa.int64()), ("latest", pa.int64()), ("retained", pa.int64()),
        ("bytes", pa.int64()), ("changed", pa.bool_()),
    ]
)  # fmt: skip


def _asked(window: pa.Array) -> dict[str, Any]:
    kind = window.type
    if pa.types.is_null(kind) or window.null_count == len(window):
        return {"since": None}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return {"last": window}
    if pa.types.is_timestamp(kind) or pa.types.is_integer(kind):
        return {"since": window}
    raise InputError("window", f'must be a length such as "37 minutes", a timestamp or a number (it is {kind})')


def _union(column: pa.Array, readers: Readers) -> bytes | None:
    given = [blob for blob in column if blob.is_valid]
    return states.union(given, readers=readers) if given else None


def _plain(found: states.Overlap) -> dict[str, Any]:
    return {name: value if name == "method" else value._asdict() for name, value in found._asdict().items()}


def _described(blob: bytes, readers: Readers) -> dict[str, Any]:
    told = states.describe(blob, readers=readers)
    return {
        "backend": told.backend,
        "parameters": [(name, str(value)) for name, value in told.parameters.items()],
        "unit": told.unit, "at": told.at, "since": told.since, "latest": told.latest,
        "retained": told.retained, "bytes": told.nbytes, "changed": told.changed,
    }  # fmt: skip
