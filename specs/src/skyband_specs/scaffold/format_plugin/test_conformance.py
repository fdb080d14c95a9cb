"""The format of this distribution keeps the contract of formats: one test a check."""

import pytest
from skyband_specs.formats import CHECKS, FormatCheck, FormatSubject, verify_format_subject

from skyband_specs.scaffold.format_plugin.hooks import skyband_formats

(INFO,) = skyband_formats()
SUBJECT = FormatSubject(INFO.key, INFO.factory, str(INFO.trial), INFO.can)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_conformance(check: FormatCheck) -> None:
    """The format does what the check says."""
    report = verify_format_subject(SUBJECT, checks=[check])
    assert report.ok, report.text()
