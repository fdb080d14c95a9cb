"""The command line: `skyband COMMAND`. Data goes to stdout, everything else to stderr; one module per command.

Exit status: 0 success, 1 something is wrong, 2 wrong usage, 130 interrupted.
"""

from skyband.cli.commands import Commands, main

__all__ = ["Commands", "main"]
