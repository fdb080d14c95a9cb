"""Snapshots: what they restore, and what they reject."""

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


def test_header_and_arrays_are_restored_unchanged():
    held = decode(BLOB)
    assert held.header == HEADER
    assert held.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert held.arrays[name].dtype == array.dtype
        assert held.arrays[name].tolist() == array.tolist()


def test_equal_content_gives_equal_bytes_in_any_order():
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
    with pytest.raises(SnapshotError):
        decode(flipped)


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(blob):
    with pytest.raises(SnapshotError, match="not a Skyband snapshot"):
        decode(blob)


def with_checksum(body):
    return BLOB[:12] + zlib.crc32(body).to_bytes(4, "little") + body


def written_as(layout, header="{}", tail=b""):
    text = f"[{header},{layout}]".encode()
    return with_checksum(len(text).to_bytes(4, "little") + text + bytes(-(len(text) + 4) % 8) + tail)


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xff\xff\xff", b"no text at all", BLOB[16:90], BLOB[16:-8], BLOB[16:] + bytes(8), BLOB[17:]]
)
def test_what_has_the_right_checksum_but_no_content_is_refused(body):
    with pytest.raises(SnapshotError, match="cannot be read: "):
        decode(with_checksum(body))


@pytest.mark.parametrize(
    ("layout", "tail"),
    [
        ('[["a","<i8",2]]', bytes(8)),
        ('[["a","<i8",1]]', bytes(16)),
        ('[["a","<i8",-1]]', bytes(8)),
        ('[["a","<i8",1152921504606846976]]', bytes(8)),
        ('[["a","<i8",1e0]]', bytes(8)),
        ('[["a","<i8",true]]', bytes(8)),
        ('[["a","|O",1]]', bytes(8)),
        ('[["a","<M8[us]",1]]', bytes(8)),
        ('[["a",["<i8"],1]]', bytes(8)),
        ('[["a","<i8",0],["a","<i8",0]]', b""),
        ('[["b","<i8",0],["a","<i8",0]]', b""),
        ('[[1,"<i8",0]]', b""),
        ("[" * 5000 + "]" * 5000, b""),
        ("{}", bytes(8)),
    ],
)
def test_a_layout_that_does_not_fit_the_bytes_is_refused(layout, tail):
    with pytest.raises(SnapshotError, match="cannot be read: "):
        decode(written_as(layout, tail=tail))


@given(st.integers(0, len(BLOB) - 17), st.integers(0, 255))
def test_a_changed_byte_with_a_right_checksum_is_refused_or_read_within_the_bytes(place, byte):
    body = bytearray(BLOB[16:])
    body[place] = byte
    try:
        arrays = decode(with_checksum(bytes(body))).arrays
    except SnapshotError:
        return
    assert sum(array.nbytes for array in arrays.values()) <= len(body)


def test_arrays_lie_as_compiled_code_expects_wherever_the_bytes_do():
    for shift in range(8):
        moved = decode(memoryview(bytes(shift) + BLOB)[shift:])
        assert all(array.flags.aligned for array in moved.arrays.values())
        assert moved.arrays["times"].tolist() == ARRAYS["times"].tolist()


def test_values_that_are_not_bytes_are_rejected():
    for wrong in (None, "SKYB", 7, [1, 2]):
        with pytest.raises(SnapshotError, match="must be the bytes of a snapshot"):
            decode(wrong)


def test_a_newer_format_says_to_upgrade():
    newer = BLOB[:4] + (FORMAT + 1).to_bytes(2, "little") + BLOB[6:]
    with pytest.raises(SnapshotError, match=f"written in format {FORMAT + 1}.*upgrade skyband"):
        decode(newer)


def test_values_that_are_not_data_cannot_be_written():
    with pytest.raises(SnapshotError, match="is code, not data: use one that the query knows by name"):
        encode({"aggregate": len}, {})
    with pytest.raises(SnapshotError, match="2 dimensions"):
        encode({}, {"table": np.zeros((2, 2))})
    for wrong in (np.array([True]), np.array(["a"]), np.array([None]), np.zeros(1, "M8[us]")):
        with pytest.raises(SnapshotError, match="a snapshot holds integers, float32 and float64"):
            encode({}, {"column": wrong})
