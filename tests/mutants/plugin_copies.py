"""A copy of a plugin with a wrong turn in it, tried in a process of its own, where kernels are not compiled."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from shutil import copytree

TESTS = """
import sys
import numpy as np
import pytest
from skyband.kernels import kskyband_kernels

# Kernels read the fields of an item as attributes: without numba, only numpy's records have those.
kskyband_kernels.ITEM = np.dtype((np.record, kskyband_kernels.ITEM))
package = __import__(sys.argv[2])
assert package.__file__.startswith(sys.argv[1]), "the copy is not what is tried"
print("begun", flush=True)
sys.exit(pytest.main(["-qx", "-p", "no:cacheprovider", "-n0", "-Wignore", "-m", "not slow", *sys.argv[3:]]))
"""
"""A program: the arguments are the folder of the copy, its package, and the tests."""


def copy_plugin(package, folder):
    """An installed package beside nothing else."""
    installed = Path(import_module(package).__file__).parent
    copytree(installed, folder / package, ignore=lambda *_: ["__pycache__"])


def take_wrong_turn(place, turn, wrong):
    """Replace some text of a file."""
    text = place.read_text("utf-8")
    assert text.count(turn) >= 1, "the turn is not there any more"
    place.write_text(text.replace(turn, wrong), "utf-8")


def tried(folder, program, *arguments):
    """What a program comes to with the copy in this folder, which is its first argument."""
    env = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", program, str(folder), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
