"""The overlap of two states, and theta sketches of states, compared with plain counting."""

import struct
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from skyband import states
from skyband.engines import local
from skyband_distinct.questions import item_overlap
from skyband_distinct.questions.theta_sketches import image_of
from skyband_distinct.sketch_reader import Sample
from state_streams import EVERY, WINDOW, by_moment, counting, edges, items, stream, table


def read_image(image):
    """A compact theta sketch: its hashes, theta, and whether it says that it is empty."""
    longs, version, family, _, _, flags, seed = struct.unpack_from("<BBBBBBH", image)
    assert (version, family, seed, flags & ~4) == (3, 3, 0x93CC, 2 | 8 | 16) and len(image) % 8 == 0
    hashes = np.frombuffer(image, "<u8", offset=8 * longs)
    if longs > 1:
        assert struct.unpack_from("<II", image, 8) == (len(hashes), 0)
    theta = struct.unpack_from("<Q", image, 16)[0] if longs > 2 else 2**63 - 1
    assert longs > 1 or len(hashes) == (0 if flags & 4 else 1), "one hash has a header of 8 bytes, and no count"
    return hashes.tolist(), theta, bool(flags & 4)


def test_a_theta_sketch_shows_its_contents():
    """None, one, more; all keys or those below a limit, which is not among them."""
    for count in range(4):
        hashes = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(1000)
        assert read_image(image_of(hashes, None)) == ([500 * n for n in range(1, count + 1)], 2**63 - 1, count == 0)
        assert read_image(image_of(hashes, 9000)) == ([500 * n for n in range(1, count + 1)], 4500, False)
    for limit, kept in ((2000, [500]), (2001, [500]), (2002, [500, 1000])):
        assert read_image(image_of(np.array([1000, 2000], np.uint64), limit))[:2] == (kept, limit >> 1)
    assert read_image(image_of(np.array([0, 1, 7, 6, 1000], np.uint64), None))[0] == [3, 500], "0 is no hash; each once"


@pytest.mark.parametrize("backend", ["exact", "k-skb"])
def test_a_theta_sketch_holds_the_items_of_the_window(backend):
    rows = [(time, group, item) for time, group, item in stream(2)]
    source = table(rows).set_column(2, "item", pa.array(["" if item == 0 else f"item {item}" for _, _, item in rows]))
    held = by_moment(local.apply(source, counting(hash="theta"), {"sketch": backend}))
    of = {}
    for item in range(8):  # one at a time
        alone = source.filter(pa.array([one == item for _, _, one in rows])).slice(0, 1)
        state = local.apply(alone, counting(hash="theta"), {"sketch": backend})["state"][0].as_py()
        of[item] = set(read_image(states.theta(state))[0])
    assert not of.pop(0), "DataSketches counts no empty text"
    for at, groups in list(held.items())[::3]:
        for since in edges(rows, at - WINDOW, at)[::3]:
            for chosen in ([*groups], [*groups][:1]):
                image = states.theta([groups[group] for group in chosen], since=since)
                expected = set().union(*(of.get(item, set()) for item in items(rows, chosen, since, at)))
                hashes, theta, _ = read_image(image)
                assert (set(hashes), hashes, theta) == (expected, sorted(expected), 2**63 - 1)
        assert states.theta([*groups.values()]) == states.theta([*groups.values()], since=at - WINDOW)
    short = by_moment(local.apply(source, counting(hash="theta", windows=["20 seconds"]), {"sketch": backend}))
    at = next(at for at in list(held)[3:] if short.get(at, {}).get("a") and held[at].get("b"))
    pair = [short[at]["a"], held[at]["b"]]
    assert states.theta(pair) == states.theta(pair, since=at - EVERY)


def counted(estimate, sample=None, parameters=None):
    """A state as `overlap_of` sees it, of a sketch that says this."""

    class Reader:
        def estimate(self, since):
            return estimate

        def samples(self, since):
            return [] if sample is None else [sample]

        @classmethod
        def union(cls, readers, since):
            return cls.united

    return SimpleNamespace(reader=Reader(), parameters=parameters or {})


def test_an_overlap_of_counts_is_between_all_that_they_allow():
    """Each part's interval is the narrowest that holds what any true counts within the three intervals give."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        shape = rng.integers(0, 40, 3)  # left alone, both, right alone
        truths = np.array([shape[0] + shape[1], shape[1] + shape[2], shape.sum()])
        low, high = truths - rng.integers(0, 6, 3), truths + rng.integers(0, 6, 3)
        low = np.maximum(low, 0)
        counts = np.clip(truths + rng.integers(-6, 7, 3), low, high)
        told = [tuple(map(float, three)) for three in zip(counts, low, high, strict=True)]
        left, right = counted(told[0]), counted(told[1])
        type(left.reader).united = told[2]
        found = item_overlap.overlap_of([left, right], [0, 0])
        (ll, lh), (rl, rh), (ul, uh) = ((one[1], one[2]) for one in told)
        assert (found.intersection.low, found.left_only.low, found.right_only.low) == (
            max(ll + rl - uh, 0),
            max(ul - rh, 0),
            max(ul - lh, 0),
        )
        for part, most in (
            (found.intersection, min(lh + rh - ul, lh, rh)),
            (found.left_only, min(uh - rl, lh)),
            (found.right_only, min(uh - ll, rh)),
        ):
            assert part.low <= part.count <= part.high
            assert part.high == max(most, part.count, 0)
        parts = {"intersection": shape[1], "left_only": shape[0], "right_only": shape[2]}
        for name, truth in parts.items():
            assert getattr(found, name).low <= truth <= getattr(found, name).high, name


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize("shares", [(0.5, 0.25), (0.25, 0.5), (0.5, 1.0), (0.25, 0.25)])
def test_an_overlap_of_samples_is_of_what_both_hold(shares, delta):
    """The hashes below the smaller share, and around each proportion the interval that Wilson's equation gives."""
    rng = np.random.default_rng(6)
    keys = np.unique(rng.integers(0, 2**63, 400, dtype=np.uint64) * np.uint64(2))
    rng.shuffle(keys)
    sets = [np.sort(keys[:250]), np.sort(keys[150:])]
    least = min(shares)
    below = [set(one[one < least * 2.0**64].tolist()) for one in sets]
    samples = [Sample(one[one < share * 2.0**64], share) for one, share in zip(sets, shares, strict=True)]
    wide = (250.0, 0.0, 1e9)  # so that samples are the better way
    pair = [counted(wide, sample, {"delta": delta}) for sample in samples]
    type(pair[0].reader).united = (float(len(keys)), 0.0, 1000.0)
    found = item_overlap.overlap_of(pair, [0, 0])
    total, square = len(below[0] | below[1]), NormalDist().inv_cdf(1 - delta / 2) ** 2
    assert found.method == "sample"
    numbers = {"jaccard": below[0] & below[1], "left_only": below[0] - below[1], "right_only": below[1] - below[0]}
    for name, common in numbers.items():
        part, whole = getattr(found, name), 1.0 if name == "jaccard" else float(len(keys))
        share = len(common) / total
        assert part.count == pytest.approx(share * whole)
        if name == "jaccard":
            for end in (part.low, part.high):
                assert (share - end) ** 2 == pytest.approx(square * end * (1 - end) / total)
            assert part.low < share < part.high
    assert found.intersection.count == pytest.approx(found.jaccard.count * len(keys))
