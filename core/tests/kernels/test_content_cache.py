"""Kernels are cached once per user, by the content of what they are compiled from."""

import os
import shutil
import subprocess
import sys

import pytest

KERNEL = """
from skyband.kernels.nested import kernel_njit, shared_njit
from ours.limits import LIMIT
from ours import factors

@shared_njit
def scaled(number):
    return number * factors.FACTOR

@kernel_njit
def total(number):
    return scaled(number) + LIMIT
"""
RUN = """
from ours.kernel import total
print(total({number}), sum(total.stats.cache_hits.values()), total.stats.cache_path)
"""


@pytest.fixture
def user(tmp_path):
    """Runs the kernel of an environment, a folder, as a user whose caches are in a folder of the test."""

    def run(environment, number="1", **variables):
        own = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        own |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), **variables}
        command = [sys.executable, "-c", RUN.format(number=number)]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=environment, check=True, env=own)
        answer, hits, place = ran.stdout.split()
        return int(answer), int(hits), place

    return run


@pytest.fixture
def first(tmp_path):
    """An environment with a package of kernels."""
    package = tmp_path / "first" / "ours"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "limits.py").write_text("LIMIT = 10\n")
    (package / "factors.py").write_text("FACTOR = 3\n")
    (package / "kernel.py").write_text(KERNEL)
    return package.parent


@pytest.mark.parametrize("variable", [None, "NUMBA_CACHE_DIR"])
def test_another_environment_compiles_nothing(tmp_path, user, first, variable):
    chosen = {} if variable is None else {variable: str(tmp_path / "chosen")}
    second = shutil.copytree(first, tmp_path / "second")
    answer, hits, place = user(first, **chosen)
    assert (answer, hits) == (13, 0)
    assert user(second, **chosen) == (13, 1, place)
    assert place.startswith(str(tmp_path / ("cache/skyband/kernels" if variable is None else "chosen")))
    assert not list(first.rglob("*.nb?"))


def test_a_kernel_is_compiled_again_if_anything_it_is_compiled_from_differs(tmp_path, user, first):
    """Its own module, a constant that it imports by name, and one that it reads from a module; all are kept."""
    assert user(first)[:2] == (13, 0)
    for number, (file, was, becomes, answer) in enumerate(
        [("kernel.py", "+ LIMIT", "- LIMIT", -7), ("limits.py", "10", "20", 23), ("factors.py", "3", "5", 15)]
    ):
        other = shutil.copytree(first, tmp_path / str(number), ignore=shutil.ignore_patterns("__pycache__"))
        changed = other / "ours" / file
        changed.write_text(changed.read_text().replace(was, becomes))
        assert user(other)[:2] == (answer, 0)
    assert user(other)[:2] == (15, 1)
    assert user(first)[:2] == (13, 1)


def test_a_cache_that_others_may_write_to_is_passed_over(tmp_path, user, first):
    home = tmp_path / "cache" / "skyband" / "kernels"
    home.mkdir(parents=True)
    home.chmod(0o777)
    assert user(first)[2] == str(first / "ours" / "__pycache__")
    home.chmod(0o700)
    assert user(first)[2].startswith(str(home))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_passed_over(tmp_path, user, first):
    home = tmp_path / "cache" / "skyband" / "kernels"
    home.mkdir(parents=True)
    os.chown(home, 65534, 65534)
    assert user(first)[2] == str(first / "ours" / "__pycache__")


def test_a_user_without_a_home_gets_no_folder_named_after_it(first, user):
    """Where no home is known, `~` stays as it is written."""
    place = user(first, number="1", XDG_CACHE_HOME="~/cache")[2]
    assert place == str(first / "ours" / "__pycache__")
    assert not (first / "~").exists()


LOADED = """
import sys
import numpy as np
from numba import njit
from skyband.kernels import nested

@njit(cache=True)
def answer(number):
    if number < 0:
        raise ValueError("below zero")
    return len({number, number + 1}), np.sort(np.full(2, number / 2)), hash((number, "a")) & 1 < 2

for number in map(eval, sys.argv[1:]):
    count, halves, hashed = answer(number)
    try:
        answer(-number)
    except ValueError as error:
        print(count, *halves, hashed, error, "numba.np.linalg" in sys.modules)
"""


def test_a_cached_kernel_is_loaded_without_the_modules_by_which_numba_compiles(tmp_path):
    """One that fails, allocates, hashes and has a set; the process can still compile another."""
    script, own = tmp_path / "loaded.py", {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    script.write_text(LOADED)

    def lines(*numbers):
        command = [sys.executable, str(script), *numbers]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=own).stdout.splitlines()

    answers = "2 2.0 2.0 True below zero"
    assert lines("4") == [f"{answers} True"]
    assert lines("4") == [f"{answers} False"]
    assert lines("4", "4.0") == [f"{answers} False", f"{answers} True"]
    assert lines("4.0", "4") == [f"{answers} False"] * 2


ALGEBRA = """
import numpy as np
from numba import njit
from skyband.kernels import nested

@njit(cache=True)
def product(a, b):
    return np.dot(a, b), np.linalg.solve(a, b)

a, b = np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 4.0])
print(*(part.tolist() for part in product(a, b)), sum(product.stats.cache_hits.values()))
"""


def test_a_cached_kernel_that_calls_blas_finds_it(tmp_path):
    """Its machine code refers to functions of a module that compiling imports, and that loading would leave out."""
    script, own = tmp_path / "algebra.py", {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    script.write_text(ALGEBRA)
    for hits in (0, 1):
        ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, env=own)
        assert ran.stdout.split() == ["[4.0,", "16.0]", "[1.0,", "1.0]", str(hits)]
