"""In which order all tests run, and which of them share a process."""

import fcntl
import gc
import os
import subprocess
from collections.abc import Generator, Iterator
from importlib.metadata import version
from pathlib import Path

import java_classes
import pytest
from skyband import spark

ROOT = Path(__file__).parents[1]
ARCHIVE = pytest.StashKey[subprocess.Popen[bytes]]()
SLOW = frozenset(Path(__file__).with_name("slow.txt").read_text("utf-8").splitlines())
"""Tests of several seconds whose kind has a quicker one: those of `tox -e slow` that no decorator names."""
ALONE = ("tests/mutants",)
"""Folders whose tests need nothing of each other: they fill the gaps at the end."""
SESSIONS = ("a Spark session for sources", "a Spark session for all else")
"""Groups of tests that share a session; each is about half of their time."""

MANY_KERNELS = (
    "chain",
    "crash",
    "families",
    "quantiles",
    "real_streams",
    "savepoints",
    "scale",
    "states",
    "time",
    "uncertain",
    "workload_changes",
)
"""Of tests/spark those whose workers call the kernels of many families. Other processes compile these meanwhile."""


def pytest_configure(config: pytest.Config) -> None:
    """What old libraries warn of: PySpark before 4.2 leaves its sockets to the collector, hypothesis a random state."""
    config.addinivalue_line("filterwarnings", "ignore:It looks like `register_random` was passed:Warning")
    if tuple(map(int, version("pyspark").split(".")[:2])) < (4, 2):
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
    # While tests are collected there is a core to spare.
    if getattr(config.option, "numprocesses", None) and not java_classes.PLACE.exists():
        config.stash[ARCHIVE] = java_classes.begin()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """One process before the others: what it has compiled, of tests and of libraries, they find."""
    with Path(__file__).open("rb") as turn:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(turn, fcntl.LOCK_SH)  # the first is through: the others go together
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Two processes have a Spark session each and half of what waits for one, from the start; others take the families.

    A family's kernels are compiled by one process. Plugins go before core and documents, which use the same kernels.
    """
    groups = {item: group_of(item) for item in items}
    for item, group in groups.items():
        if SLOW & {item.nodeid, item.nodeid.partition("[")[0]}:
            item.add_marker(pytest.mark.slow)
        if group:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: _turn(item, groups[item]))
    yield
    grouped = [item for item in items if item.get_closest_marker("xdist_group")]
    if getattr(config.option, "loadgroup", False) and grouped and "@" not in grouped[0].nodeid:
        raise pytest.UsageError("this pytest-xdist does not see groups with this pytest: take those of tox.ini")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What has come with thousands of tests is no garbage: the collector leaves it alone, and looks less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Without the archive tests take longer: somebody should know why."""
    problem = java_classes.end(config.stash[ARCHIVE]) if ARCHIVE in config.stash else None
    if problem:
        terminalreporter.write_line(problem)


def pytest_unconfigure() -> None:
    """Modules in C tell of what is left at the end, if they are not taken down with the rest."""
    gc.unfreeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The tests that share a Spark session are the longest chain: other processes let theirs go first on the cores."""
    if "PYTEST_XDIST_WORKER" in os.environ and not os.nice(0) and "session" not in getattr(item, "fixturenames", ()):
        os.nice(3)


@pytest.fixture(scope="session")
def session():
    """One Spark session for all tests, small and quiet: local, of two cores."""
    settings = {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.streaming.minBatchesToRetain": "2",
    }
    started = spark.session("skyband tests", **settings)
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()


def group_of(item: pytest.Item) -> str:
    """What runs in one process with it; nothing for a test of its own."""
    if "session" in getattr(item, "fixturenames", ()):
        return SESSIONS["tests/spark/sources" not in item.path.as_posix()]
    place = item.path.relative_to(ROOT)
    if item.get_closest_marker("spark") or place.as_posix().startswith(ALONE):
        return ""
    return "/".join(place.parts[:2]) if place.parts[0] == "plugins" else place.as_posix()


def _turn(item: pytest.Item, group: str) -> tuple[bool, bool, bool, bool, bool]:
    spark = item.get_closest_marker("spark") is not None
    later = spark and item.path.stem.removeprefix("test_") in MANY_KERNELS
    return group not in SESSIONS, not spark, not group.startswith("plugins/"), not group, later
