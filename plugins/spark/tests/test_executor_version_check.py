"""An executor opens what a driver pickled only where the same code is installed, of one version and of one build."""

import pickle
import sys

import pytest
from skyband.errors import PluginError
from skyband_spark.frames.executor_version_check import build_of, unpickle_checked


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two modules, installed without metadata; its name, and a function that makes it another build."""
    folder = tmp_path / "acme_sums"
    folder.mkdir()
    (folder / "__init__.py").write_text('__version__ = "1.0"\n')
    (folder / "sums.py").write_text("def add(a, b):\n    return a + b\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "acme_sums", lambda: (folder / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    for name in [name for name in sys.modules if name.startswith("acme_sums")]:
        del sys.modules[name]


def imported_anew():
    for name in [name for name in sys.modules if name.startswith("acme_sums")]:
        del sys.modules[name]


def test_the_same_build_is_opened(package):
    name, _ = package
    made_with = {"acme": ("1.0", name, build_of(name))}
    imported_anew()
    assert unpickle_checked(made_with, pickle.dumps([1, 2])) == [1, 2]


def test_another_build_of_the_same_version_is_told_with_both(package):
    name, change = package
    driver = build_of(name)
    change()
    imported_anew()
    with pytest.raises(PluginError) as caught:
        unpickle_checked({"acme": ("1.0", name, driver)}, pickle.dumps([1, 2]))
    told = f"the driver runs acme 1.0 of build {driver}, this executor of build {build_of(name)}: the same version of"
    assert str(caught.value).startswith(told)


def test_an_archive_is_held_to_its_version_only(package):
    name, _ = package
    assert unpickle_checked({"acme": ("1.0", name, None)}, pickle.dumps(3)) == 3
