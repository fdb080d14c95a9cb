"""Reports that kernels are being compiled, which only a query's first run on a machine waits for."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from skyband_jobs.job.progress import Progress, Totals


@contextmanager
def announced(progress: Progress, totals: Totals) -> Iterator[None]:
    """Report on `progress` while numba compiles in this process; add its seconds to `totals.compiling`."""
    from numba.core import event  # once a query's backends are there, which have loaded numba where they need it

    class Compiling(event.Listener):  # type: ignore[misc]
        """Called when numba starts and ends a function, and the functions within it."""

        depth, began = 0, 0.0

        def on_start(self, event: Any) -> None:  # noqa: ARG002
            if self.depth == 0:
                self.began = time.monotonic()
            self.depth += 1
            seconds = totals.compiling + time.monotonic() - self.began
            progress.waiting(f"compiling kernels, once on this machine: {seconds:.0f} s")

        def on_end(self, event: Any) -> None:  # noqa: ARG002
            self.depth -= 1
            if self.depth == 0:
                totals.compiling += time.monotonic() - self.began

    with event.install_listener("numba:compile", Compiling()):
        yield
