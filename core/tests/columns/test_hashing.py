"""The hash of a column is mmh3's of each value, for every type, slice and null."""

import struct
from decimal import Decimal

import mmh3
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.columns import hashing
from skyband.columns.hashing import THETA_SEED, hash_column, hash_columns
from skyband.errors import InputError


def reference(data: bytes) -> int:
    return mmh3.hash64(data, seed=0, x64arch=True, signed=False)[0]


@given(st.lists(st.none() | st.text() | st.text(min_size=14, max_size=40)))
def test_strings_hash_as_their_utf8(texts):
    expected = [0 if text is None else reference(text.encode()) for text in texts]
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert hash_column(pa.array(texts, pa.string()).cast(kind)).tolist() == expected


@given(st.lists(st.binary(max_size=70)))
def test_every_length_of_binary(values):
    assert hash_column(pa.array(values, pa.binary())).tolist() == [reference(value) for value in values]


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_integers_of_every_width_have_the_same_hash(numbers):
    expected = [reference(struct.pack("<q", number)) for number in numbers]
    for kind in (pa.int32(), pa.int64()):
        assert hash_column(pa.array(numbers, kind)).tolist() == expected


def test_slices_nulls_and_chunks():
    column = pa.array(["a", None, "bb", "ccc", None, "d"])
    whole = hash_column(column)
    assert hash_column(column.slice(2, 3)).tolist() == whole[2:5].tolist()
    assert hash_column(pa.chunked_array([column.slice(0, 2), column.slice(2)])).tolist() == whole.tolist()
    assert whole[1] == 0
    assert hash_column(pa.array([], pa.string())).tolist() == []
    assert hash_column(pa.array([None, None], pa.string())).tolist() == [0, 0]


def test_floats_have_one_zero_and_one_nan():
    hashes = hash_column(pa.array([0.0, -0.0, float("nan"), -float("nan"), 1.5]))
    assert hashes[0] == hashes[1]
    assert hashes[2] == hashes[3]
    assert hashes[4] == reference(struct.pack("<d", 1.5))


def test_times_and_decimals_hash_their_value():
    second = pa.array([7], pa.timestamp("s")).cast(pa.timestamp("ns"))
    assert hash_column(second)[0] == reference(struct.pack("<q", 7_000_000))
    decimal = pa.array([Decimal("1.50"), None, Decimal("-1.50")])
    hashes = hash_column(decimal)
    assert hashes[0] == reference((150).to_bytes(16, "little", signed=True))
    assert hashes[2] == hash_column(decimal.slice(2))[0]


def test_several_columns_hash_as_their_hashes():
    left, right = pa.array(["x", "y"]), pa.array([1, 2])
    both = np.stack([hash_column(left), hash_column(right)], axis=1)
    assert hash_columns([left, right]).tolist() == [reference(row.tobytes()) for row in both]
    assert hash_columns([left]).tolist() == hash_column(left).tolist()


@pytest.mark.parametrize("words", [1, 63, 64, 65, 300])
def test_a_dictionary_hashes_as_its_words_do_under_each_seed(words):
    """The latest are remembered with their hashes, also by seed and after others."""
    columns = [pa.array([f"{turn} {word}" if word else None for word in range(words + 1)]) for turn in range(6)]
    for turn in (0, 0, 1, 0, 2, 3, 4, 5, 0, 1, 5):
        for seed in (0, THETA_SEED, 0, 7):
            plain = hash_column(columns[turn], seed).tolist()
            for coded in (columns[turn].dictionary_encode(), columns[turn].dictionary_encode("encode")):
                assert hash_column(coded, seed).tolist() == plain


def test_only_few_dictionaries_are_remembered():
    for number in range(40):
        hash_column(pa.array([f"{number} {word}" for word in range(100)]).dictionary_encode())
        assert len(hashing._words) <= 4


def test_a_dictionary_whose_reader_writes_other_words_into_its_memory_hashes_as_these():
    """A reader of files may take the memory of one batch for the next."""
    letters = np.frombuffer("".join(f"{word:03}" for word in range(100)).encode(), np.uint8).copy()
    offsets = pa.py_buffer(np.arange(0, 301, 3, dtype=np.int32))
    words = pa.Array.from_buffers(pa.string(), 100, [None, offsets, pa.py_buffer(letters)])
    column = pa.DictionaryArray.from_arrays(pa.array(np.arange(100)), words)
    for shift in (0, 3, 6):
        letters[:] = np.roll(letters, shift)
        assert hash_column(column).tolist() == [reference(word.encode()) for word in words.to_pylist()]


def test_a_type_without_a_hash_is_named():
    with pytest.raises(InputError, match="list"):
        hash_column(pa.array([[1]]))


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 63, 64, 65, 80])
def test_nulls_change_only_the_lower_half_of_a_hash(count):
    """However many there are: shards are chosen by the upper half, as they were when a null was hashed as no text."""
    rng = np.random.default_rng(count)
    chosen = [
        np.zeros(count, bool),
        *np.eye(count, dtype=bool),
        *(rng.random((200, count)) < 0.5),
        np.ones(count, bool),
    ]
    nulls = np.unique(chosen, axis=0)
    texts = rng.integers(0, 3, nulls.shape) if count > 2 else np.zeros(nulls.shape, int)
    words = [[("", "a", "b")[text] for text in column] for column in texts.T]
    with_nulls = [
        pa.array([None if null else word for word, null in zip(column, empty, strict=True)], pa.string())
        for column, empty in zip(words, nulls.T, strict=True)
    ]
    without = [column.fill_null("") for column in with_nulls]
    hashes, plain = hash_columns(with_nulls), hash_columns(without)
    assert (hashes >> np.uint64(32) == plain >> np.uint64(32)).all()
    told = (hashes ^ plain).tolist()
    assert told[nulls.any(axis=1).tolist().index(False)] == 0
    assert len(set(told)) == len(nulls)
