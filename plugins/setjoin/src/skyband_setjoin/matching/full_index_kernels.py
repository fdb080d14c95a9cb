"""Matching by an index of every token, in compiled code: by counting, or by a set's shortest lists.

COUNTED: the overlap of s with a set is how many lists of s contain it (ScanCount of Li, Lu and Lu, ICDE 2008).

SHORTEST: a set that matches s shares o >= least(s) tokens with it, so only |s| − o tokens of s are not shared, and any
|s| − least(s) + 1 of them include a shared one. So scanning that many of the shortest lists suffices. A set first found
in the i-th of them (from 0) shares at most |s| − i tokens.
"""

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit
from skyband.kernels.sorting import sort
from skyband.roles.sharding import BUILD, PROBE

from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.index import LISTS
from skyband_setjoin.indexed import expire, find_all, horizon_of, insert_all, ones
from skyband_setjoin.matching.answers import MATCH, append_matches, arrange, with_room
from skyband_setjoin.matching.bounds import least_of, rule_from, slack_of
from skyband_setjoin.matching.window_matcher import KEEP_FIRST, LENGTH, MOST, SIDES
from skyband_setjoin.sets import FIRST, NEXT
from skyband_setjoin.similarity_kernel import HAMMING, OVERLAP, similarity

_PLACE_BITS = 31


@kernel_njit
def take(sets, index, own, rest, settings, counted, numbers, times, offsets, tokens, sides, parts):
    """Take in a batch; returns the new (sets, index), cuts int64[n + 1] and MATCH[…], the matches of each set.

    settings: int64[4], see window_matcher; counted: bool, whether COUNTED.
    """
    rule = rule_from(own, rest)
    two, length, rows = settings[SIDES] == 2, abs(settings[LENGTH]), settings[LENGTH] < 0
    longest = 1
    for row in range(len(times)):
        longest = max(longest, offsets[row + 1] - offsets[row])
    words, places, order = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    cuts = np.zeros(len(times) + 1, np.int64)
    matches, answers = np.empty(16, MATCH), np.empty(16, MATCH)
    for row in range(len(times)):
        expire(sets, index, horizon_of(times[row] + rows, length))
        size, signature = window.normalise(tokens, offsets[row], offsets[row + 1], words)
        side, count, least = np.int64(sides[row]), np.int64(0), least_of(rule, size)
        if 2 * (index.marks[LISTS] + size) > len(index.table) or row & 4095 == 4095:
            index = lists.roomy(lists.trim(index), size)
        if parts[row] & PROBE and least <= size:
            find_all(index.table, 1 - side if two else side, words, size, places)
            if counted:
                matches, count = _count(sets, index, rule, size, places, numbers[row], matches)
            else:
                _by_length(index.table, places, size, order)
                few = (sets, index, rule, signature, words, size, places, order, size - least + 1)
                matches, count = _probe(few, numbers[row], settings[MOST], matches)
            count = arrange(matches, count, settings[MOST])
            answers = append_matches(answers, cuts[row], matches, count)
        cuts[row + 1] = cuts[row] + count
        if parts[row] & BUILD and least <= size and not (settings[KEEP_FIRST] and count):
            if two or not parts[row] & PROBE:
                find_all(index.table, side, words, size, places)
            if not lists.is_reserved(index.marks, index.table, index.pool, places, size):
                index = lists.reserved(index, places, size)
            insert_all(index, side, sets.marks[NEXT], words, size, signature, places)
            if not window.has_room(sets, size):
                sets = window.enlarged(sets, size)
            window.append(sets, numbers[row], times[row], side, words, size)
    return (window.trim(sets), lists.trim(index)), cuts, answers


@nested_njit
def _by_length(table, places, size, order):
    """Order tokens by the length of their lists: entries of `order` hold their places in the low bits."""
    for i in range(size):
        length = np.int64(0) if places[i] == lists.NONE else np.int64(table[places[i]].count)
        order[i] = (length << _PLACE_BITS) | i
    sort(order, size)


@nested_njit
def _probe(tokens, number, most, matches):
    """Find matches in the shortest lists of a set; returns `matches` and their number."""
    sets, index, rule, signature, words, size, places, order, walked = tokens
    records, first = sets.records, sets.marks[FIRST]
    table, pool = index.table, index.pool
    ends_early = most > 0 and 0 <= rule.kind <= HAMMING and rule.kind != OVERLAP
    count = equal = 0
    for i in range(walked):
        place = places[order[i] & ((1 << _PLACE_BITS) - 1)]
        if place == lists.NONE:
            continue
        row = table[place]
        offset, head, mask = np.int64(row.offset), np.int64(row.head), (1 << row.bits) - 1
        for j in range(head, head + np.int64(row.count)):
            entry = pool[offset + (j & mask)]
            other_size = np.int64(entry.size)
            slack = slack_of(rule, size, other_size)
            if ones(signature ^ entry.signature) > slack or 2 * (size - i) < size + other_size - slack:
                continue
            record = records[(first + ((np.int64(entry.number) - first) & 0xFFFFFFFF)) & (len(records) - 1)]
            if record.stamp == number:
                continue
            record.stamp = number
            common = window.overlap(sets, record, words, size)
            score = similarity(rule.kind, rule.own, common, size, other_size)
            if score >= rule.threshold:
                matches = with_room(matches, count)
                matches[count].earlier, matches[count].similarity = record.number, score
                count += 1
                # Nothing is more similar than an equal set, and the earliest of these is first in every list.
                equal += common == size and common == other_size
                if ends_early and equal == most:
                    return matches, count
    return matches, count


@nested_njit
def _count(sets, index, rule, size, places, number, matches):
    """Find matches by counting overlaps in all lists of a set; returns `matches` and their number."""
    records, first = sets.records, sets.marks[FIRST]
    candidates = 0
    for i in range(size):
        if places[i] == lists.NONE:
            continue
        row = index.table[places[i]]
        offset, head, mask = np.int64(row.offset), np.int64(row.head), (1 << row.bits) - 1
        for j in range(head, head + np.int64(row.count)):
            slot = first + ((np.int64(index.pool[offset + (j & mask)].number) - first) & 0xFFFFFFFF)
            record = records[slot & (len(records) - 1)]
            if record.stamp != number:
                record.stamp, record.hits = number, 0
                matches = with_room(matches, candidates)
                matches[candidates].earlier = slot
                candidates += 1
            record.hits += 1
    count = 0
    for i in range(candidates):
        record = records[matches[i].earlier & (len(records) - 1)]
        score = similarity(rule.kind, rule.own, record.hits, size, np.int64(record.size))
        if score >= rule.threshold:
            matches[count].earlier, matches[count].similarity = record.number, score
            count += 1
    return matches, count
