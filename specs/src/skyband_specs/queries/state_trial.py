"""Tries a query's states and logs, changed but with a valid checksum, in a child process that may crash or hang.

Each must raise SnapshotError, or give an operator that continues. It may then refuse rows, because the state may be
later than they are; but a query that fails on the rows of a state has accepted them unchecked.
"""

import faulthandler
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from skyband import SkybandError, SnapshotError, snapshot
from skyband.columns import keyed_frames
from skyband.errors import PluginError
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode

from skyband_specs.fork_server import run_in_lasting_fork
from skyband_specs.fresh_process import PATIENCE, last_words
from skyband_specs.queries.case import GROUP, QueryCase
from skyband_specs.state_mutations import State, mutations
from skyband_specs.state_trial import alarm, limit_memory

_SECONDS = 20
_ROWS = 300


def fault(case: QueryCase, states: int, environment: dict[str, str]) -> str | None:
    """What goes wrong with one of this many mutated states of each sort; None: nothing."""
    order = (tuple(sys.path), pickle.dumps(case), states)
    try:
        child = run_in_lasting_fork("skyband_specs.queries.state_trial:_obey", order, environment, PATIENCE)
    except subprocess.TimeoutExpired as error:
        return f"hangs for {PATIENCE:.0f} s {_place(error.stdout or b'')}"
    if child.returncode == 0:
        return None
    if child.returncode < 0:
        return f"is killed by {signal.Signals(-child.returncode).name} {_place(child.stdout)}"
    return f"{last_words(child).splitlines()[-1]} {_place(child.stdout)}"


def _place(output: bytes) -> str:
    lines = output.decode(errors="replace").splitlines()
    return f"on {lines[-1]}" if lines else "before the first mutated state"


def _obey(order: Any) -> str:
    """Run in the child."""
    path, pickled, states = order
    sys.path[:] = path
    faulthandler.enable()
    case = pickle.loads(pickled)
    for by in ([], [GROUP]):
        _try_all(_Halves(case, by), states)
    return ""


class _Halves:
    """An example's rows, without or with groups: a state after half of them, and the other half."""

    def __init__(self, case: QueryCase, by: list[str]) -> None:
        names = [f"group {place % 5}" for place in range(len(case.rows))]
        self.rows = case.rows.append_column(GROUP, pa.array(names, pa.string())).slice(0, _ROWS)
        self.case, self.query = case, case.query(by=by)
        first, self.second = (
            part.combine_chunks().to_batches()[0]
            for part in (self.rows.slice(0, len(self.rows) // 2), self.rows.slice(len(self.rows) // 2))
        )
        run = case.run(self.rows, self.query)
        run.push(first)
        self.blob = run.operator.snapshot()
        # The last rows wait, whatever the delay: the state contains them unchanged.
        for one in self.second.slice(0, 20).to_pylist():
            run.operator.add(encode(self.query, pa.RecordBatch.from_pylist([one], self.rows.schema)).frame)
        self.waiting = run.operator.snapshot()
        frame = encode(self.query, self.second).frame
        self.turn = run.operator.logged_batch([keyed_frames.to_bytes(frame)])

    def go_on(self, operator: Operator) -> None:
        """Take the other half."""
        operator.add(encode(self.query, self.second).frame)
        times = encode(self.query, self.second).progress
        operator.step(times)
        operator.finish(int(times.newest or 0))
        operator.snapshot()


def _try_all(halves: _Halves, states: int) -> None:
    _try_state(halves, halves.blob)  # compiles all kernels
    _try_turn(halves, halves.turn)
    limit_memory()
    contents = snapshot.decode(halves.waiting)
    for sort, mutated in (
        ("state", mutations(contents.arrays, 1)),
        ("waiting row", _within("waiting", contents.arrays)),
    ):
        for how, arrays in islice(mutated, states):
            _announce(f"a {sort} {'by group' if halves.query.by else ''} with {how}")
            _try_state(halves, snapshot.encode(contents.header, arrays), sort == "waiting row")
    turn = snapshot.decode(halves.turn)
    for how, arrays in islice(_within("000000", turn.arrays), states):
        _announce(f"a log {'by group' if halves.query.by else ''} with {how}")
        _try_turn(halves, snapshot.encode(turn.header, arrays))
    alarm(0)


def _within(name: str, arrays: State) -> Iterator[tuple[str, State]]:
    """Rows stored as bytes in an array, changed."""
    header, inside = snapshot.unpack(arrays[name].tobytes())
    for how, changed in mutations(inside, 2):
        yield how, {**arrays, name: np.frombuffer(snapshot.pack(header, changed), np.uint8)}


def _announce(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()
    alarm(_SECONDS)


def _try_state(halves: _Halves, blob: bytes, rows: bool = False) -> None:
    operator = halves.case.run(halves.rows, halves.query).operator
    try:
        operator.restore(blob)
    except SnapshotError:
        return
    try:
        halves.go_on(operator)
    except PluginError:
        if rows:  # a backend's own state has its own check
            raise
    except SkybandError:
        return


def _try_turn(halves: _Halves, entry: bytes) -> None:
    operator = halves.case.run(halves.rows, halves.query).operator
    operator.restore(halves.blob)
    try:
        operator.replay([LoggedBatch.decode(entry)])
    except SnapshotError:
        return
    try:
        halves.go_on(operator)
    except PluginError:
        raise
    except SkybandError:
        return
