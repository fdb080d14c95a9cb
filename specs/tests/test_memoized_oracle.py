"""A definition is asked each question once, and different questions are never confused."""

import attrs
import numpy as np
from skyband_specs import memoized_oracle
from skyband_specs.memoized_oracle import answer_once
from skyband_specs.pair_ranker.streams import stream_of

STREAM = stream_of([0, 1, 2], [0, 1, 0], [[1, 2], [3], []])


def watched():
    """A definition, and what it was asked."""
    questions = []

    @answer_once
    def definition(*question):
        questions.append(question)
        return len(questions)

    return definition, questions


def test_equal_questions_have_one_answer():
    definition, questions = watched()
    again = attrs.evolve(STREAM.copy(), sets=[tokens.copy() for tokens in STREAM.sets])
    assert definition({"k": 3, "by": "rows"}, STREAM, 2) == 1
    assert definition({"k": 3, "by": "rows"}, STREAM.copy(), 2) == 1
    assert definition({"k": 3, "by": "rows"}, again, 2) == 2, "a list of sets is no tuple of them"
    assert len(questions) == 2


def test_different_questions_are_never_confused():
    """Streams that differ in one row, in where sets end or in a type; numbers that are equal but not the same."""
    moved = attrs.evolve(STREAM, sets=tuple(np.array(tokens, np.int64) for tokens in ([1], [2, 3], [])))
    smaller = attrs.evolve(STREAM, times=STREAM.times.astype(np.int32))
    later = attrs.evolve(STREAM, times=STREAM.times + 1)
    rows = [STREAM, moved, smaller, later, STREAM.take(np.array([0, 1]))]
    plain = [0, 0.0, -0.0, False, None, "0", (0,), [0], b"0", np.zeros(1), np.zeros(1, np.int64), -np.zeros(1)]
    definition, questions = watched()
    answers = [definition(question) for question in [*rows, *plain]]
    assert answers == [*range(1, len(questions) + 1)]
    assert len(questions) == len(rows) + len(plain)


def test_what_has_no_name_is_asked_each_time():
    definition, questions = watched()
    for _ in range(2):
        definition({"similarity": lambda overlap, n, m: overlap}, STREAM)
    assert len(questions) == 2


def test_memory_ends(monkeypatch):
    monkeypatch.setattr(memoized_oracle, "MOST", 3)
    definition, questions = watched()
    for question in (1, 2, 3, 4, 4, 3, 2, 1):
        definition(question)
    assert [question for (question,) in questions] == [1, 2, 3, 4, 1]
