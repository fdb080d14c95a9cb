"""Images of HLLs: those of DataSketches are accepted, and damaged ones are refused with the reason."""

import struct

import numpy as np
import pytest
import skyband
from datasketches import hll_sketch, tgt_hll_type
from skyband import SnapshotError
from skyband_panes.hll_panes import problem_of


def image(keys, lg_k=10):
    sketch = hll_sketch(lg_k, tgt_hll_type.HLL_8)
    for key in range(keys):
        sketch.update(key * 7919)
    return sketch.serialize_updatable()


@pytest.mark.parametrize("lg_k", [7, 8, 10, 13, 16])
def test_every_image_that_the_library_writes_is_accepted(lg_k):
    for keys in [*range(200), 500, 3000, 20_000, 100_000]:
        assert problem_of(image(keys, lg_k), lg_k) is None


def changed(keys, place, value):
    copy = bytearray(image(keys))
    copy[place] = value
    return bytes(copy)


DAMAGED = {
    "list of more than it holds": (changed(3, 6, 129), "says it holds 129 coupons but holds 3 of at most 8"),
    "list of fewer than it holds": (changed(3, 6, 2), "says it holds 2 coupons but holds 3 of at most 8"),
    "set of more than it holds": (changed(50, 8, 60), "says it holds 60 coupons but holds 50 of at most 96"),
    "set of more slots": (changed(50, 4, 9), "has 524 bytes for 512 coupons"),
    "set of more slots than registers": (changed(50, 4, 32), r"has no valid mode"),
    "another size": (changed(100, 3, 11), "is not an HLL_8 with lg_k = 10"),
    "another type": (changed(100, 7, 2), "is not an HLL_8 with lg_k = 10"),
    "another mode": (changed(100, 7, 11), r"has no valid mode"),
    "another family": (changed(100, 2, 8), "is not an HLL_8 with lg_k = 10"),
    "another head": (changed(100, 0, 2), "has 1064 bytes for 2^10 registers"),
    "cut": (image(100)[:-1], "has 1063 bytes for 2^10 registers"),
    "cut in the head": (image(100)[:7], "is not an HLL_8 with lg_k = 10"),
    "a sum that is not a number": (image(100)[:8] + struct.pack("<d", np.nan) + image(100)[16:], "has the sums"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_image_is_refused_with_the_reason(name):
    damaged, reason = DAMAGED[name]
    assert (problem_of(damaged, 10) or "").startswith(reason)


def test_a_sketch_names_the_pane_of_a_damaged_image():
    sketch = skyband.create("sketch", "hll-panes", pane=10, epsilon=0.1)
    sketch.update(times=[5, 17, 17], keys=np.array([1, 2, 3], np.uint64))
    state = {name: values.copy() for name, values in sketch.dump_state().items()}
    state["sketches"][state["offsets"][1] + 6] = 129
    with pytest.raises(SnapshotError, match=r"that of pane 1 says it holds 129 coupons but holds 2"):
        skyband.create("sketch", "hll-panes", pane=10, epsilon=0.1).load_state(state)
