"""What core says to install for a backend is what brings it."""

from skyband.registry import installed
from skyband.registry.install_hints import comes_with


def test_each_backend_of_ours_is_known_by_the_distribution_that_brings_it():
    ours = [entry for entry in installed().listing() if entry.distribution.startswith("skyband-")]
    assert len(ours) > 30
    for entry in ours:
        assert comes_with(entry.info.key) == f"; it comes with {entry.distribution}: pip install {entry.distribution}"
