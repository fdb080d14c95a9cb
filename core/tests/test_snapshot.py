"""Snapshots: what comes back, and what is refused."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband import SnapshotError
from skyband.snapshot import FORMAT, decode, encode

HEADER = {"role": "sketch", "name": "toy", "parameters": {"epsilon": 0.1}}
ARRAYS = {"times": np.array([1, -(2**63), 2**63 - 1]), "keys": np.array([0, 2**64 - 1], np.uint64), "none": np.empty(0)}
BLOB = encode(HEADER, ARRAYS)


def test_header_and_arrays_come_back_as_they_were():
    held = decode(BLOB)
    assert held.header == HEADER
    assert held.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert held.arrays[name].dtype == array.dtype
        assert held.arrays[name].tolist() == array.tolist()


def test_equal_content_gives_equal_bytes_in_whatever_order_it_is_given():
    assert encode(dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items()))) == BLOB


def test_arrays_are_read_only_views():
    assert not decode(BLOB).arrays["times"].flags.writeable


@given(st.integers(0, len(BLOB) - 1))
def test_a_cut_snapshot_is_refused(length):
    with pytest.raises(SnapshotError):
        decode(BLOB[:length])


@given(st.integers(0, len(BLOB) - 1), st.integers(0, 7))
def test_a_flipped_bit_is_noticed(place, bit):
    flipped = BLOB[:place] + bytes([BLOB[place] ^ (1 << bit)]) + BLOB[place + 1 :]
    if place in (4, 5) and 1 <= int.from_bytes(flipped[4:6], "little") <= FORMAT:
        return  # an older format, which may be read by design
    with pytest.raises(SnapshotError):
        decode(flipped)


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(blob):
    with pytest.raises(SnapshotError, match="not a Skyband snapshot"):
        decode(blob)


@pytest.mark.parametrize("body", [b"", b"no Arrow stream", BLOB[10:90]])
def test_what_has_the_right_checksum_but_no_content_is_refused(body):
    with pytest.raises(SnapshotError, match="cannot be read: "):
        decode(BLOB[:6] + zlib.crc32(body).to_bytes(4, "little") + body)


def test_a_newer_format_says_to_upgrade():
    newer = BLOB[:4] + (FORMAT + 1).to_bytes(2, "little") + BLOB[6:]
    with pytest.raises(SnapshotError, match=f"written in format {FORMAT + 1}.*upgrade skyband"):
        decode(newer)


def test_what_is_no_data_cannot_be_written():
    with pytest.raises(SnapshotError, match="is code, not data"):
        encode({"aggregate": len}, {})
    with pytest.raises(SnapshotError, match="2 dimensions"):
        encode({}, {"table": np.zeros((2, 2))})
