import numpy as np
import pytest
from attrs import frozen
from skyband_specs.stream import Stream


@frozen(eq=False)
class Sets(Stream):
    times: np.ndarray
    tokens: tuple


@pytest.fixture
def sets():
    return Sets(np.array([1, 2, 3]), tuple(np.array(tokens) for tokens in ([7], [], [8, 9])))


def test_accepts_rows_of_every_kind_of_column(sets):
    taken = sets.take(np.array([0, 2]))
    assert len(taken) == 2
    assert taken.times.tolist() == [1, 3]
    assert [tokens.tolist() for tokens in taken.tokens] == [[7], [8, 9]]


def test_a_copy_shares_no_memory(sets):
    copied = sets.copy()
    copied.times[:] = 0
    copied.tokens[2][:] = 0
    assert sets.times.tolist() == [1, 2, 3]
    assert sets.tokens[2].tolist() == [8, 9]


def test_columns_are_equally_long():
    with pytest.raises(ValueError, match="differ in length"):
        Sets(np.array([1]), ())
