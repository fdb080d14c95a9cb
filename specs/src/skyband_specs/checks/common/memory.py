"""What a backend retains follows what is valid, not how long it has run."""

from itertools import pairwise

import numpy as np

from skyband_specs.case import Case
from skyband_specs.check import Make, check, expect

COUNT = 1
PARTS = 8
EARLY = 2
"""The stream is fed in PARTS parts; what is held after the first EARLY of them is taken as settled."""

FACTOR = 2.0
"""How much more may be held later: growth in step with the stream would be PARTS / EARLY = 4."""

SLACK = {"items retained": 64, "bytes": 1 << 16}


@check("memory")
def check_steady_stream_holds_steady_memory(make: Make, case: Case) -> None:
    """Items retained and bytes of state stay bounded while a steady stream runs on."""
    stream = case.driver.steady(case)
    backend = make()
    held: dict[str, list[int]] = {what: [] for what in SLACK}
    for start, stop in pairwise(np.linspace(0, len(stream), PARTS + 1).astype(int).tolist()):
        case.driver.feed(backend, stream, start, stop)
        held["items retained"].append(len(backend))
        held["bytes"].append(backend.nbytes)
    for what, sizes in held.items():
        limit = FACTOR * max(sizes[:EARLY]) + SLACK[what]
        grown = f"{what} grew from {max(sizes[:EARLY])} to {max(sizes)} over {len(stream)} rows"
        expect(max(sizes) <= limit, f"{grown} whose valid content stays the same in size: {sizes}")
    expect(min(held["bytes"]) > 0, f"nbytes says {min(held['bytes'])} for a backend that has been fed")
