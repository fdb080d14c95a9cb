"""`skyband` and `python -m skyband`: the command line, which can be interrupted from its first moment on."""

import os
import signal

_INTERRUPTED = 130


def main() -> None:
    """Run the command line. Until it is imported, which takes half a second, Ctrl-C ends the process in silence."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from skyband.cli.commands import main as run

    run()


def _end(*_: object) -> None:
    """Nothing has begun: no exception, which would be shown with a traceback of whatever is being imported."""
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
