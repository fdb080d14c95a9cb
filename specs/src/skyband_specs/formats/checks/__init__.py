"""What a format must do: each check is a function of the format and an empty folder."""

from skyband_specs.formats.check import FormatCheck
from skyband_specs.formats.checks import current, killed, rows, values

CHECKS: list[FormatCheck] = [
    one for module in (rows, values, current, killed) for one in vars(module).values() if isinstance(one, FormatCheck)
]
"""All checks, in order."""
