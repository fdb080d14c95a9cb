"""The command line: `skyband COMMAND`. Data on stdout, everything else on stderr; one command a module.

Exit status: 0 fine, 1 found something wrong, 2 wrong call, 130 interrupted.
"""

from skyband.cli.commands import Commands, main

__all__ = ["Commands", "main"]
