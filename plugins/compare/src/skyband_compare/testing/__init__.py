"""Tests of a job: compares its answers on given rows with a file of expected ones."""

from skyband_compare.testing.assertion import assert_answers as assert_answers

__all__ = ["assert_answers"]
