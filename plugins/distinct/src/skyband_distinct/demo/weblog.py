"""The demo's stream: a day of a website's log, with a daily wave, few heavy clients, and late rows."""

import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
from attrs import frozen
from skyband.arrays import Int64

DAY = datetime.datetime(2026, 6, 20, tzinfo=datetime.UTC)
FILES = 12
LATE_FILES = 2
"""A late row arrives this many files too late, and so behind the watermark."""

_SECOND = 1_000_000
_CLIENTS = 30_000
_LATE = 2e-4
_WAVE = {0: 0.5, 4: 0.25, 8: 0.8, 12: 1.5, 16: 1.4, 19: 2.0, 20: 3.2, 21: 2.6, 22: 1.2, 24: 0.5}
"""Requests by hour of the day: quiet at night, with a peak at eight in the evening."""


@frozen
class Weblog:
    """Requests in order of arrival: times in microseconds, clients by number, and which rows are late."""

    times: Int64
    clients: npt.NDArray[np.int32]
    late: npt.NDArray[np.bool_]

    def distinct_clients(self, at: int, length: int) -> int:
        """The exact count over [at − length, at), without late rows. O(rows)."""
        inside = (self.times >= at - length) & (self.times < at) & ~self.late
        return len(np.unique(self.clients[inside]))

    def write(self, folder: Path) -> None:
        """Write `FILES` Parquet files, whose names and modification times are in order of arrival."""
        folder.mkdir(parents=True)
        table = self._table()
        for number, rows in enumerate(np.array_split(np.arange(len(table)), FILES)):
            path = folder / f"requests-{number:02}.parquet"
            pyarrow.parquet.write_table(table.slice(int(rows[0]), len(rows)), path)

    def _table(self) -> pa.Table:
        rng = np.random.default_rng(3)
        octets = rng.integers(1, 255, (_CLIENTS, 3))
        addresses = pa.array([f"{10 + n % 200}.{a}.{b}.{c}" for n, (a, b, c) in enumerate(octets.tolist())])
        status = rng.choice([200, 304, 404, 500], len(self.times), p=[0.82, 0.13, 0.045, 0.005])
        return pa.table(
            {
                "ts": pa.array(self.times, pa.timestamp("us", "UTC")),
                "client": addresses.take(pa.array(self.clients)),
                "status": pa.array(status.astype(np.int16)),
                "bytes": pa.array(rng.lognormal(8, 1.5, len(self.times)).astype(np.int64)),
            }
        )


def make_weblog(rows: int, seed: int = 1998) -> Weblog:
    """`rows` requests over one day; the same for the same arguments on any machine."""
    rng = np.random.default_rng(seed)
    minutes = np.arange(24 * 60)
    rate = np.interp(minutes / 60, list(_WAVE), list(_WAVE.values()))
    minute = rng.choice(minutes, rows, p=rate / rate.sum())
    start = int(DAY.timestamp()) * _SECOND
    times = np.sort(start + minute * 60 * _SECOND + rng.integers(0, 60 * _SECOND, rows))
    popularity = 1 / np.arange(1, _CLIENTS + 1) ** 0.8
    clients = rng.choice(_CLIENTS, rows, p=popularity / popularity.sum()).astype(np.int32)
    jitter = rng.integers(0, 20 * _SECOND, rows) + rng.integers(0, 200 * _SECOND, rows) * (rng.random(rows) < 0.03)
    order = np.argsort(times + jitter, kind="stable")
    return _with_late_rows(rng, times[order], clients[order])


def _with_late_rows(rng: np.random.Generator, times: Int64, clients: npt.NDArray[np.int32]) -> Weblog:
    """Move some rows `LATE_FILES` files back, as late rows."""
    share = -(-len(times) // FILES)
    late = (rng.random(len(times)) < _LATE) & (np.arange(len(times)) < len(times) - LATE_FILES * share - share)
    place = np.arange(len(times)) + late * LATE_FILES * share
    order = np.argsort(place, kind="stable")
    return Weblog(times[order], clients[order], late[order])
