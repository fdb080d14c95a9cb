"""The example of a processor runs."""

import doctest

from skyband.groups.processor import GroupProcessor


def test_the_example_of_a_processor_runs():
    (example,) = doctest.DocTestFinder(recurse=False).find(GroupProcessor, globs={})
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
