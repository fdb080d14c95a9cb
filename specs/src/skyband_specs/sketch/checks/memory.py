"""A bounded sketch stays small however many keys arrive, and any sketch forgets what it is asked to."""

import numpy as np

from skyband_specs.batching import seeded
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.checks.common.memory import expect_steady, parts, retained
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.sketch.streams import SketchStream, random_keys

COUNT = 3
ROWS = 200_000


@check("memory", guarantees=("bounded",))
def check_new_keys_do_not_pile_up(make: Make, case: Case) -> None:
    """Keys that never repeat are not all kept; only those of one pane, if panes are kept separately."""
    stream = random_keys(1, ROWS, step=int(case.has("any-since")))
    backend = make()
    sizes = []
    for start, stop in parts(len(stream)):
        backend.update(stream.times[start:stop], stream.keys[start:stop])
        sizes.append(retained(case, backend))
    expect_steady(sizes, f"{ROWS} keys that never repeat")


@check("memory")
def check_forgetting_keeps_what_counts(make: Make, case: Case) -> None:
    """After `forget(before)` the estimates since `before` and later are the same, then and after more rows."""

    def law(stream: SketchStream) -> None:
        half = len(stream) // 2
        before = int(np.median(stream.times[:half])) if half else 0
        plain, forgetful = make(), make()
        near = {before, before + 1, *stream.times[stream.times >= before].tolist()}
        since = sorted({-(-moment // plain.grain) * plain.grain for moment in near})
        for what, start, stop in (("at once", 0, half), ("after more rows", half, len(stream))):
            for backend in (plain, forgetful):
                case.driver.feed(backend, stream, start, stop)
            if stop == half:
                forgetful.forget(before)
            expected, got = ([backend.estimate(moment) for moment in since] for backend in (plain, forgetful))
            expect_equal(got, expected, f"{what}, estimates since {since}, what is before {before} forgotten")

    holds_for(case, seeded(case), law)


@check("memory")
def check_forgetting_bounds_memory(make: Make, case: Case) -> None:
    """Keys that never repeat, each forgotten some time after it arrived, do not pile up."""
    stream = random_keys(1, ROWS)
    backend = make()
    sizes = []
    for start, stop in parts(len(stream)):
        backend.update(stream.times[start:stop], stream.keys[start:stop])
        backend.forget(int(stream.times[stop - 1]) - ROWS // 40)
        sizes.append(retained(case, backend))
    expect_steady(sizes, f"{ROWS} keys that never repeat, each soon forgotten")
