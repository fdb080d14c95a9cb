"""Conformance of vector matchers: driver, oracle, streams and checks, for the runs of skyband-specs.

Nothing else in this distribution imports it, so skyband-specs is needed only to verify a matcher.
"""
