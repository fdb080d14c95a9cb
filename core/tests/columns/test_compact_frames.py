"""Compact frames restore every value, in every encoding."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.columns import compact_frames, record_batch_bytes
from skyband.columns.keyed_frames import decoded, with_columns
from skyband.errors import SnapshotError
from skyband.operator.waiting_rows import WaitingRows

ROWS = 600
INTEGERS = st.sampled_from([0, 1, 255, 256, 2**16, 2**32 - 1, 2**32, 2**62])


def column(kind, seed, most, distinct):
    """Numbers from −most to most with `distinct` values, and their text."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-most, most, distinct, endpoint=True)[rng.integers(0, distinct, ROWS)]
    made = {
        "ascending": lambda: pa.array(np.sort(numbers)),
        "int64": lambda: pa.array(numbers),
        "uint64": lambda: pa.array(numbers.view(np.uint64)),
        "float64": lambda: pa.array(numbers.view(np.float64)),
        "int32": lambda: pa.array(numbers.astype(np.int32)),
        "null": lambda: pa.array(numbers, mask=numbers % 2 == 0),
        "text": lambda: pa.array([f"{number} é" for number in numbers.tolist()]),
        "some text": lambda: pa.array([f"{number} é" if number % 3 else None for number in numbers.tolist()]),
    }
    return made[kind]()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ascending", "int64", "uint64", "float64", "int32", "null", "text", "some text"]),
            st.integers(0, 3),
            INTEGERS,
            st.sampled_from([1, 5, 300, 5000]),
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, ROWS),
)
def test_every_value_is_restored(columns, start):
    plain = [column(*how) for *how, _ in columns]
    coded = [
        values.dictionary_encode() if is_coded and values.type == pa.string() else values
        for values, (*_, is_coded) in zip(plain, columns, strict=True)
    ]
    names = [f"c{place}" for place in range(len(plain))]
    for made in (plain, coded):
        frame = pa.RecordBatch.from_arrays(made, names=names).slice(start)
        back = with_columns(compact_frames.from_bytes(compact_frames.to_bytes(frame)), decoded)
        assert record_batch_bytes.to_bytes(back) == record_batch_bytes.to_bytes(with_columns(frame, decoded))


WIDTHS = [2**bits + beside for bits in (8, 16, 32) for beside in (-1, 0, 1)]
"""Numbers at the limits of each number of bytes, and those before and after."""


@pytest.mark.parametrize("most", WIDTHS)
@pytest.mark.parametrize("least", [0, -7, 2**62])
def test_distances_and_steps_are_restored_up_to_the_limits_of_their_bytes(most, least):
    rng = np.random.default_rng(8)
    ends = rng.permutation(np.append([0, most], rng.integers(0, most, ROWS - 2, endpoint=True)))
    steps = np.cumsum(np.append(0, rng.choice([0, 1, most], ROWS - 1)))
    told = np.cumsum(rng.integers(0, 2, ROWS))
    columns = {"told": told, "apart": least + ends, "ascending": least + steps, "word": told.view(np.uint64)}
    frame = pa.RecordBatch.from_pydict(columns)
    assert compact_frames.from_bytes(compact_frames.to_bytes(frame)).equals(frame)


@pytest.mark.parametrize("words", [255, 256, 257, 65_535, 65_536, 65_537])
def test_words_are_restored_up_to_the_limits_of_their_codes(words):
    places = np.random.default_rng(9).permutation(np.arange(4 * words) % words)
    text = pa.array([f"{place}" for place in range(words)]).take(pa.array(places))
    hashes = (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    frame = pa.RecordBatch.from_pydict({"hash": hashes, "text": text, "again": hashes})
    back = with_columns(compact_frames.from_bytes(compact_frames.to_bytes(frame)), decoded)
    assert back.equals(frame)


def visits(rows=10_000, objects=1_000):
    """A frame of rows in order of time, with a text, its hash twice, and no groups."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, objects, rows)
    hashes = rng.integers(-(2**63), 2**63, objects)
    return pa.RecordBatch.from_pydict(
        {
            "time": np.cumsum(rng.integers(0, 60_000, rows)),
            "group": np.zeros(rows, np.uint64),
            "object": hashes[codes],
            "key": hashes[codes].view(np.uint64),
            "name": pa.array([f"client-{number:06}" for number in range(objects)]).take(pa.array(codes)),
        }
    )


def test_what_repeats_takes_no_bytes_again():
    frame = visits()
    assert len(record_batch_bytes.to_bytes(frame)) > 48 * len(frame)
    assert len(compact_frames.to_bytes(frame)) < 7.5 * len(frame)


def test_the_bytes_do_not_depend_on_the_reader_of_the_text():
    frame = visits()
    coded = frame.set_column(4, "name", pa.array([*frame["name"].to_pylist(), "unused"]).dictionary_encode()[:-1])
    assert compact_frames.to_bytes(coded) == compact_frames.to_bytes(frame)


def numbered(rows, groups, ascending=False):
    """A frame of rows of groups that a number names: its hash stands before it, another one behind."""
    rng = np.random.default_rng(groups)
    numbers = rng.integers(0, groups, rows)
    numbers[:2] = 0, groups - 1
    numbers = np.sort(numbers) if ascending else numbers
    hashes = rng.integers(0, 2**64, groups, dtype=np.uint64)
    return pa.RecordBatch.from_pydict(
        {
            "time": np.cumsum(rng.integers(0, 60_000, rows)),
            "group": hashes[numbers],
            "item": rng.integers(0, 2**64, rows, dtype=np.uint64),
            "by.0": numbers - 5,
            "again": hashes[::-1][numbers].view(np.int64),
        }
    )


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("groups", [2, 3, 256, 257, 65_536, 65_537])
def test_a_hash_is_derived_from_its_number_in_any_column(groups, ascending):
    frame = numbered(200_000, groups, ascending)
    data = compact_frames.to_bytes(frame)
    assert compact_frames.from_bytes(data).equals(frame)
    size = 1 if groups <= 256 or ascending else 2 if groups <= 65_536 else 4
    hashes, words = (0, 16 * groups) if groups <= 65_536 else (16, 0)  # as they are
    assert 10 + size + hashes <= (len(data) - words) / len(frame) < 10.1 + size + hashes


@pytest.mark.parametrize("groups", [256, 257, 65_536, 65_537, 65_538])
def test_two_distant_numbers_may_share_a_hash(groups):
    frame = numbered(1000, groups)
    for name in ("group", "again"):
        column = frame[name].to_numpy().copy()
        column[1] = column[0]  # of the smallest number and of the largest
        frame = frame.set_column(frame.schema.get_field_index(name), name, pa.array(column))
    assert compact_frames.from_bytes(compact_frames.to_bytes(frame)).equals(frame)


@pytest.mark.parametrize("apart", [1, 3276, 3449, 3450, 2**17, 2**40])
def test_distant_numbers_determine_a_hash_or_are_not_tried(apart):
    frame = numbered(900, 20)
    frame = frame.set_column(3, "by.0", pa.array(frame["by.0"].to_numpy() * apart))
    assert compact_frames.from_bytes(compact_frames.to_bytes(frame)).equals(frame)


def test_a_number_with_one_exception_does_not_determine_a_hash():
    for other in (300, 899, 5):
        frame = numbered(900, 20)
        hashes = frame["group"].to_numpy().copy()
        hashes[other] += np.uint64(1)
        frame = frame.set_column(1, "group", pa.array(hashes))
        assert compact_frames.from_bytes(compact_frames.to_bytes(frame)).equals(frame)


@pytest.mark.parametrize("made", [lambda: visits(300, 20), lambda: numbered(300, 20), lambda: numbered(300, 20, True)])
def test_damaged_bytes_are_refused_or_whole(made):
    data = compact_frames.to_bytes(made())
    rng, refused = np.random.default_rng(3), 0
    places = [*range(700), *rng.integers(0, len(data), 300).tolist()]
    for place in places:
        broken = bytearray(data)
        broken[place] ^= 1 << int(rng.integers(8))
        try:
            compact_frames.from_bytes(bytes(broken)).validate(full=True)
        except SnapshotError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("way", [[1, 0], [5, 0], [6, 0], [6, 3], [7, 0], [7, 1], [8, 0], [4, 0]])
def test_the_number_of_rows_equals_that_of_the_stored_numbers(way):
    from skyband import snapshot

    header, arrays = snapshot.unpack(compact_frames.to_bytes(visits(300, 20)))
    for rows in (2**40, 299):
        changed = {**header, "rows": rows, "ways": [way, *header["ways"][1:]]}
        with pytest.raises(SnapshotError):
            compact_frames.from_bytes(snapshot.pack(changed, arrays))


def test_rows_that_wait_keep_no_words_of_rows_that_went():
    waiting = WaitingRows()
    for turn in range(20):
        names = pa.array([f"{turn} {number}" for number in range(50)]).dictionary_encode()
        waiting.add(
            pa.RecordBatch.from_pydict({"time": np.arange(50), "group": np.zeros(50, np.uint64), "name": names})
        )
        waiting.release(49)
        assert max(len(frame["name"].dictionary) for frame in waiting._frames) <= turn + 1
