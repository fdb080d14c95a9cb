"""Compares random streams of all queries with brute force, for some minutes: `tox -e oracles -- --minutes 60`.

    python tests/oracles/run_oracles.py [--minutes 1] [--seed N] [--query KIND]

Each seed is a query and a stream. A difference prints the query and the seed, and `--seed` plays it again.
"""

import argparse
import secrets
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oracles import KINDS, steps_of


def main(minutes: float, seed: int | None, kinds: list[str]) -> int:
    """Returns the exit status: 1 if an answer differed."""
    if seed is not None:
        print({kind: steps_of(kind, seed) for kind in kinds})  # noqa: T201
        return 0
    steps, streams, failed = dict.fromkeys(kinds, 0), 0, 0
    begin, first = time.monotonic(), secrets.randbits(40)
    while time.monotonic() - begin < 60 * minutes:
        for kind in kinds:
            try:
                steps[kind] += steps_of(kind, first + streams)
            except Exception as error:
                failed += 1
                notes = "\n  ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
                print(f"--query {kind} --seed {first + streams}\n  {notes}", flush=True)  # noqa: T201
        streams += 1
    for kind in kinds:
        print(f"{steps[kind]:>12,} steps of {kind}")  # noqa: T201
    rate = sum(steps.values()) / (time.monotonic() - begin) * 60
    print(f"{sum(steps.values()):>12,} steps in all, {rate:,.0f} a minute; {failed:,} differences")  # noqa: T201
    return int(failed > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, help="play this seed once, as a failure printed it")
    parser.add_argument("--query", choices=KINDS, action="append", help="only this query, or these")
    given = parser.parse_args()
    sys.exit(main(given.minutes, given.seed, given.query or list(KINDS)))
