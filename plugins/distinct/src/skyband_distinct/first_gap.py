"""The estimate of Flajolet and Martin: 2 to the mean first gap."""

PHI = 0.7735162909
"""2^E[first gap] / n, Flajolet and Martin 1985, section 3. The sliding-window paper has 0.775351, a bias of 0.24 %."""


def power_of_mean(gaps: int, arrays: int) -> float:
    """The number of keys in each of `arrays` arrays, behind first gaps that sum to `gaps`."""
    return float(2.0 ** (gaps / arrays) / PHI)
