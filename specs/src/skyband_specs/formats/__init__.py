"""Conformance checks of formats: what a plugin's source or sink must do."""

from skyband_specs.formats.check import FormatCheck
from skyband_specs.formats.checks import CHECKS
from skyband_specs.formats.runner import verify_format, verify_format_subject
from skyband_specs.formats.trial import FormatSubject, FormatTrial

__all__ = ["CHECKS", "FormatCheck", "FormatSubject", "FormatTrial", "verify_format", "verify_format_subject"]
