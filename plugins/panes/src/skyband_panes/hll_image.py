"""Checks the bytes of a DataSketches HLL before the library reads them, because it trusts the counts in them."""

import math
import struct

import numpy as np

LIST, SET, HLL = range(3)
_HLL_8 = 2
_MODE, _TYPE, _WIDTH = 3, 2, 4
_LIST_SLOTS = 8


def problem_of(image: bytes, lg_k: int) -> str | None:
    """The problem of an image of an HLL_8 of 2^lg_k registers, in its updatable form, or None.

    The format of Java and C++: the head (8 bytes: ints of the preamble, version, family, lg_k, lg of the slots, flags,
    count of a list, mode and type); then the coupons of a list or set, or three sums, two counts and the registers.
    """
    if len(image) < 8 or image[1:4] != bytes((1, 7, lg_k)) or image[7] >> _TYPE != _HLL_8:
        return f"is not an HLL_8 with lg_k = {lg_k}"
    mode, lg_slots = image[7] & _MODE, image[4]
    if mode == HLL:
        if image[0] != 10 or len(image) != 40 + (1 << lg_k):
            return f"has {len(image)} bytes for 2^{lg_k} registers"
        sums = struct.unpack_from("<3d", image, 8)
        return None if all(math.isfinite(number) and number >= 0 for number in sums) else f"has the sums {sums}"
    if mode == LIST:
        head, slots, count, room = 2, _LIST_SLOTS, image[6], _LIST_SLOTS
    elif mode == SET and len(image) >= 12 and lg_slots <= lg_k:
        head, slots, count = 3, 1 << lg_slots, struct.unpack_from("<I", image, 8)[0]
        room = slots * 3 // 4
    else:
        return f"has no valid mode (byte {image[7]}, {len(image)} bytes, 2^{lg_slots} slots)"
    if image[0] != head or len(image) != head * 4 + slots * _WIDTH:
        return f"has {len(image)} bytes for {slots} coupons"
    filled = int(np.count_nonzero(np.frombuffer(image, "<u4", slots, head * 4)))
    return None if filled == count <= room else f"says it holds {count} coupons but holds {filled} of at most {room}"
