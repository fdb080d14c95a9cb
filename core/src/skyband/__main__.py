"""`skyband` and `python -m skyband`: the command line, which Ctrl-C can interrupt from the start."""

import gc
import os
import signal


def main() -> None:
    """Run the command line. Ctrl-C during its import (half a second) ends the process without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    gc.set_threshold(100_000, 2, 2)  # what is imported stays: looking through it often took a tenth of a start
    from skyband.cli.commands import main as run

    run()


def _end(*_: object) -> None:
    """Exits at once: an exception would show a traceback of whatever is being imported."""
    os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
