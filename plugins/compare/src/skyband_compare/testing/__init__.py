"""Tests of a job: its answers on rows of one's own, held against a file of those that are right."""

from skyband_compare.testing.assertion import assert_answers as assert_answers

__all__ = ["assert_answers"]
