"""`skyband` and `python -m skyband`: the command line, which Ctrl-C can interrupt from the start."""

import os
import signal

_INTERRUPTED = 130


def main() -> None:
    """Run the command line. Ctrl-C during its import (half a second) ends the process without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from skyband.cli.commands import main as run

    run()


def _end(*_: object) -> None:
    """Exits at once: an exception would show a traceback of whatever is being imported."""
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
