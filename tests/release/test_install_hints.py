"""What core says to install for a name is what brings it."""

from release import install_hints
from skyband.registry import installed
from skyband.registry.install_hints import comes_with, format_comes_with, known_formats


def test_the_table_is_what_the_plugins_bring():
    written, remedy = install_hints.HOMES.read_text("utf-8"), "python tests/release/install_hints.py"
    assert written == install_hints.text(), remedy


def test_each_backend_of_ours_is_known_by_the_distribution_that_brings_it():
    ours = [entry for entry in installed().listing() if entry.distribution.startswith("skyband-")]
    assert len(ours) > 30
    for entry in ours:
        assert comes_with(entry.info.key) == f"; it comes with {entry.distribution}: pip install {entry.distribution}"


def test_a_format_comes_with_an_extra():
    assert {"delta", "iceberg", "kafka", "redis", "sql"} <= {*known_formats()}
    assert format_comes_with("sql") == "; it comes with skyband-lakes: pip install 'skyband-lakes[sql]'"
