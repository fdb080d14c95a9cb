"""Makes theta sketches of Apache DataSketches, which Spark's theta functions accept, from states in any window."""

import struct
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.arrays import UInt64
from skyband.errors import InputError
from skyband.states.question import Question
from skyband.states.state import State

from skyband_distinct.sketch_parameters import THETA

WHOLE = 2**63 - 1
"""Theta of a sketch of all keys."""
_SEED_HASH = 0x93CC
"""The low 16 bits of MurmurHash3_x64_128, seed 0, of the seed 9001 as 8 bytes."""
_EMPTY_TEXT = np.uint64(0x1E70A32266491BB9 >> 1)
"""The hash of no bytes."""
_VERSION, _FAMILY, _READ_ONLY, _EMPTY, _COMPACT, _ORDERED = 3, 3, 2, 4, 8, 16


@define
class MakeThetaSketch(Question):
    """A theta sketch of the items in a window, from one state or the union of several.

    The states are those of `distinct-count` with `hash = "theta"`, so that their hashes are the same as those of
    Spark's `theta_sketch_agg` and of the package `datasketches`. `theta_sketch_estimate` of it is the count that
    `estimate` returns, and `theta_union`, `theta_intersection` and `theta_difference` combine it with other sketches.
    DataSketches does not count empty text or empty bytes, so they are left out.
    """

    name: ClassVar[str] = "theta"
    result: ClassVar[pa.DataType] = pa.binary()
    returns: ClassVar[str] = "bytes\n    a compact theta sketch, serial version 3"

    def answer(self, states: Sequence[State], since: Sequence[int]) -> bytes:
        first = states[0]
        if first.parameters.get("hash") != THETA:
            message = f'of {first.key} were made without hash = "theta", so theta sketches cannot use their hashes'
            remedy = "set it in the query that makes them, with sketch/k-skb or sketch/exact"
            raise InputError("states", f"{message}: {remedy}")
        hashes, limit = type(first.reader).smallest([state.reader for state in states], since)
        return image_of(hashes, limit)


def image_of(hashes: UInt64, limit: int | None) -> bytes:
    """The image of the smallest hashes (uint64[n], ascending, distinct); `limit` is the next one, or None."""
    below = WHOLE if limit is None else limit >> 1
    smallest = np.unique(hashes >> np.uint64(1))
    smallest = smallest[(smallest > 0) & (smallest < below) & (smallest != _EMPTY_TEXT)]
    flags = _READ_ONLY | _COMPACT | _ORDERED | (0 if len(smallest) or limit is not None else _EMPTY)
    longs = 3 if limit is not None else 2 if len(smallest) > 1 else 1
    image = struct.pack("<BBBBBBH", longs, _VERSION, _FAMILY, 0, 0, flags, _SEED_HASH)
    if longs > 1:
        image += struct.pack("<II", len(smallest), 0)
    if longs > 2:
        image += struct.pack("<Q", below)
    return image + smallest.astype("<u8").tobytes()
