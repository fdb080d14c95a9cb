"""Which processors stay objects, and that answers do not depend on it."""

import numpy as np
import pytest
from skyband.arrays import TIME_MAX
from skyband.groups.processor import GroupProcessor
from skyband.operator import processor_cache
from skyband.operator.inactive_group_states import PackedStates
from skyband.operator.processor_cache import ProcessorCache

MANY, FEW = 6, 3


class Tally(GroupProcessor):
    """Counts its turns: it retains as many items, takes ten bytes for each, and is due again so much later.

    Python's own are counted as ten bytes more.
    """

    def __init__(self):
        self.turns = 0

    def advance(self, rows, until):
        self.turns += rows

    def finish(self, rows, latest):
        self.turns += rows

    @property
    def next_at(self):
        return TIME_MAX if self.turns % 5 == 0 else 10 * self.turns

    @property
    def empty(self):
        return self.turns == 0

    @property
    def retained(self):
        return self.turns

    @property
    def nbytes(self):
        return 10 * self.turns - 10

    def dump_state(self):
        return {"turns": self.turns}, {}

    def load_state(self, header, arrays):
        self.turns = header["turns"]


@pytest.fixture(autouse=True)
def few_bytes(monkeypatch):
    monkeypatch.setattr(processor_cache, "MOST_ACTIVE", MANY)
    monkeypatch.setattr(processor_cache, "FEW_ACTIVE", FEW)
    monkeypatch.setattr(processor_cache, "MOST_BYTES", 100)
    monkeypatch.setattr(processor_cache, "OF_PYTHON", 10)


def turn(cache, keys, rows=1):
    for _, processor in cache.each(np.array(keys, np.uint64)):
        processor.advance(rows, 0)


def active(cache):
    return sorted(cache._active)


def test_adding_to_a_copy_leaves_the_cache_unchanged():
    cache = ProcessorCache(lambda _: Tally())
    turn(cache, range(4))
    twin = cache.copy()
    for key in (7, 8):
        processor = Tally()
        processor.advance(3, 0)
        twin.begin(key, processor)
    cache._check()
    twin._check()
    assert twin.retained == cache.retained + 6
    assert (cache.keys.tolist(), twin.keys.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3, 7, 8])


def test_those_used_last_stay_ready_while_they_take_few_bytes():
    cache = ProcessorCache(lambda _: Tally())
    turn(cache, range(8))  # ten bytes each: as many stay as may, the first of a turn among them
    assert active(cache) == [0, 1, 2, 3, 4, 5]
    turn(cache, [9])
    assert active(cache) == [1, 2, 3, 4, 5, 9]
    turn(cache, [4], rows=5)  # 60 of 110 bytes
    assert active(cache) == [2, 3, 4, 5, 9]
    turn(cache, [4], rows=50)  # too many alone, but this few are always active
    assert active(cache) == [4, 5, 9]
    turn(cache, [4], rows=-56)  # it has run empty
    assert (active(cache), 4 in cache.keys) == ([5, 9], False)
    turn(cache, range(10, 14))  # the large one is forgotten
    assert active(cache) == [5, 9, 10, 11, 12, 13]


def test_no_group_is_put_to_sleep_before_it_has_had_its_turn():
    cache = ProcessorCache(lambda _: Tally())
    turn(cache, range(6))
    turn(cache, range(6), rows=30)  # the first has 310 bytes while the others wait for their turn
    assert cache.retained == 6 * 31
    cache.rest()
    assert len(active(cache)) == FEW


def test_answers_do_not_depend_on_which_are_active():
    rng = np.random.default_rng(1)
    for _ in range(40):
        cache, turns = ProcessorCache(lambda _: Tally()), {}
        for _ in range(20):
            keys = np.sort(rng.choice(20, rng.integers(1, 12), replace=False)).astype(np.uint64)
            rows = int(rng.integers(0, 4))
            turn(cache, keys, rows)
            for key in keys.tolist():
                turns[key] = turns.get(key, 0) + rows
            if rng.random() < 0.3:
                cache.rest()
            if rng.random() < 0.2:
                state, cache = cache.dump_state(), ProcessorCache(lambda _: Tally())
                cache.load_state(state, changed=bool(rng.integers(2)))
            held = {key: count for key, count in turns.items() if count}
            assert cache.keys.tolist() == sorted(held)
            assert (len(cache), cache.retained) == (len(held), sum(held.values()))
            until = int(rng.integers(0, 100))
            due = [key for key, count in held.items() if count % 5 and 10 * count <= until]
            assert cache.due(until).tolist() == sorted(due)
            assert cache._all_bytes() == sum(10 * held[key] for key in cache._active)


class Later(Tally):
    """As the same query with other parts has it: due at other moments."""

    @property
    def next_at(self):
        return 10 * self.turns + 5


@pytest.mark.parametrize("changed", [False, True])
def test_groups_of_a_state_are_due_when_the_parts_that_there_are_now_say_so(changed):
    """Whichever were active; with equal parts, none is activated only to ask."""
    cache = ProcessorCache(lambda _: Tally())
    for key in range(12):
        turn(cache, [key], rows=key + 1)
    made, state = [], cache.dump_state()
    other = ProcessorCache(lambda key: made.append(key) or (Later() if changed else Tally()))
    other.load_state(state, changed)
    moments = {
        key: 10 * (key + 1) + 5 if changed else cache.due(10**6).tolist().count(key) * 10 * (key + 1)
        for key in range(12)
    }
    for until in range(0, 140, 5):
        assert other.due(until).tolist() == [key for key, moment in moments.items() if 0 < moment <= until]
    assert made == ([*range(12)] if changed else [0])


@pytest.mark.parametrize("seed", range(3))
def test_states_laid_by_are_those_of_a_dictionary_and_their_heap_follows_them(seed):
    """Groups are added, removed, added again in another size and moved; no snapshot packs them meanwhile."""
    rng = np.random.default_rng([43, seed])
    packed, held = PackedStates(), {}
    for step in range(400):
        keys = rng.choice(40, rng.integers(1, 8), replace=False).astype(np.uint64)
        here = np.sort(np.array([key for key in keys.tolist() if key in held], np.uint64))
        assert packed.take(here) == [held.pop(key)[2] for key in here.tolist()]
        if step % 3:
            drawn = (
                (int(rng.choice([*range(99), TIME_MAX])), int(rng.integers(9)), rng.bytes(rng.integers(1, 60)))
                for _ in keys
            )
            new = [*zip(keys.tolist(), drawn, strict=True)]
            packed.put([(key, *group) for key, group in new])
            held |= dict(new)
        if step % 50 == 49:
            other = PackedStates()
            other.absorb(packed, packed.keys)
            packed = other
        assert packed.keys.tolist() == sorted(held) and len(packed) == len(held)
        assert packed.retained == sum(retained for _, retained, _ in held.values())
        until = int(rng.choice([*range(99), TIME_MAX - 1, TIME_MAX]))
        due = [key for key, (moment, _, _) in held.items() if moment <= until and moment != TIME_MAX]
        assert packed.due(until).tolist() == sorted(due), "none that waits for rows alone"
        live = sum(len(state) for _, _, state in held.values())
        assert len(packed._heap) <= 5 * live + 500, "half of what is used belongs to somebody, and room is doubled"
    state, again = packed.dump_state(), PackedStates()
    again.load_state(state)
    assert again.take(again.keys) == [held[key][2] for key in sorted(held)]
