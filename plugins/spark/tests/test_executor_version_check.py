"""An executor unpickles a driver's objects only with the same code, of the same version and build."""

import importlib.metadata
import importlib.util
import pickle
import sys

import pyarrow as pa
import pytest
from skyband.errors import PluginError
from skyband.operator.bind_backends import bind
from skyband.queries import make_query
from skyband_spark.frames import executor_version_check
from skyband_spark.frames.executor_version_check import build_of, unpickle_checked
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.version_checked_pickling import pickled_with_versions


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
    told = f"the driver has acme 1.0 of build {driver}, this executor build {build_of(name)}: the same version of"
    assert str(caught.value).startswith(told)


def test_an_archive_is_held_to_its_version_only(package):
    name, _ = package
    assert unpickle_checked({"acme": ("1.0", name, None)}, pickle.dumps(3)) == 3


@pytest.fixture
def made_with():
    """What must match the driver's, for a query whose backend may come from elsewhere."""
    pytest.importorskip("skyband_distinct")
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("who", pa.string())])
    query = make_query(
        {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 hour"}
    )
    return pickled_with_versions(len, ShardedPlan(query, bind(query, schema), schema, 2)).made_with


def test_the_distributions_of_engine_query_and_backends_are_looked_at(made_with):
    assert {"skyband", "skyband-spark", "skyband-distinct"} <= made_with.keys()
    assert unpickle_checked(made_with, pickle.dumps(7)) == 7


def test_an_executor_without_the_engine_is_told_what_it_lacks(made_with, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "skyband_spark" else find(name))
    monkeypatch.setattr("importlib.metadata.version", absent("skyband-spark", importlib.metadata.version))
    version = made_with["skyband-spark"][0]
    with pytest.raises(PluginError, match=f"the driver has skyband-spark {version}, this executor has none"):
        unpickle_checked(made_with, pickle.dumps(7))


def test_an_executor_with_another_version_of_the_engine_is_told_both(made_with, monkeypatch):
    version, module, build = made_with["skyband-spark"]
    assert executor_version_check.build_of(module) == build
    with pytest.raises(PluginError, match=f"the driver has skyband-spark 9.0, this executor {version}"):
        unpickle_checked({**made_with, "skyband-spark": ("9.0", module, build)}, pickle.dumps(7))


def absent(distribution, version):
    def version_here(name):
        if name == distribution:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    return version_here
