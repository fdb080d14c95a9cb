# mypy: disable-error-code="untyped-decorator,no-untyped-def"
"""A sort of few or many whole numbers for compiled code, quick to compile."""

from skyband.kernels.nested import nested_njit

_FEW = 48


@nested_njit
def sort(values, size):
    """Sort the first `size` values in place: by insertion where they are few, else by a heap.

    numpy's own sort would take as long to compile as a quarter of all there is here.
    """
    if size <= _FEW:
        for i in range(1, size):
            moving = values[i]
            j = i
            while j > 0 and values[j - 1] > moving:
                values[j] = values[j - 1]
                j -= 1
            values[j] = moving
        return
    for start in range(size // 2 - 1, -1, -1):
        _sink(values, start, size)
    for stop in range(size - 1, 0, -1):
        values[0], values[stop] = values[stop], values[0]
        _sink(values, 0, stop)


@nested_njit
def _sink(values, place, stop):
    """Move a value down the heap of `values[:stop]`, the largest first, to where it belongs."""
    moving = values[place]
    while 2 * place + 1 < stop:
        child = 2 * place + 1
        if child + 1 < stop and values[child + 1] > values[child]:
            child += 1
        if values[child] <= moving:
            break
        values[place] = values[child]
        place = child
    values[place] = moving
