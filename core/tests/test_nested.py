"""What only compiled functions call is compiled into them, and is nothing that Python could call."""

import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from skyband.kernels.nested import nested_njit


@nested_njit
def parts(values):
    return values[::2].copy(), len(values)


@nested_njit(error_model="numpy")
def share(values, of):
    return values[0] / of


@njit
def both(values, of):
    half, count = parts(values)
    return half.sum(), count, share(values, of)


def test_a_kernel_calls_it_with_its_options():
    assert both(np.arange(1.0, 6.0), 2.0) == (9.0, 5, 0.5)
    assert both(np.arange(1.0, 6.0), 0.0)[2] == np.inf, "numpy's division by 0"


def test_python_does_not():
    with pytest.raises(TypeError, match="parts is called by compiled functions only: see nested_njit"):
        parts(np.arange(5.0))


CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from outer import outer
from inner import inner
print(outer(7), sum(outer.stats.cache_hits.values()), len(getattr(inner, "overloads", ())))
"""


def test_it_is_kept_on_disk_with_the_kernel_that_calls_it(tmp_path):
    (tmp_path / "inner.py").write_text(
        "from skyband.kernels.nested import nested_njit\n@nested_njit\ndef inner(x):\n    return x * 2\n"
    )
    (tmp_path / "outer.py").write_text(
        "from numba import njit\nfrom inner import inner\n@njit(cache=True)\ndef outer(x):\n    return inner(x) + 1\n"
    )
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    run = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    assert run == [["15", "0", "1"], ["15", "1", "0"]], "the second process compiles neither"
