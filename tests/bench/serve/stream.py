"""What one service takes: CPU and memory for each message of a topic, and how soon an answer is in a table.

python tests/bench/serve/stream.py backlog --messages 1000000      a topic that is full before the service starts
python tests/bench/serve/stream.py live --rate 20000 --seconds 60  messages with the time of now, answers each second
python tests/bench/serve/stream.py soak --rate 20000 --seconds 3600 --plot a.svg  memory, with ever new keys and groups
"""

import argparse
import json
import multiprocessing
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "systems"))

import kafka_broker

JOB = """
[source]
format = "kafka"
stream = true
schema = "ts TIMESTAMP, client STRING, page STRING, status INT"
options = {{ subscribe = "requests", "kafka.bootstrap.servers" = "{address}" }}

[query]
kind = "distinct-count"
time = "ts"
item = "client"
by = ["{by}"]
windows = ["1 minute"]
every = "1 second"

[sink]
format = "sql"
url = "sqlite:///board.db"
table = "counts"
checkpoint = "checkpoint"
trigger = "{trigger}"
"""
SERVE = [sys.executable, "-m", "skyband", "serve", "job.toml"]
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"
PARTITIONS = 2


def message(number: int, at: float, drifts: bool = False) -> bytes:
    """Eight fields, some 200 bytes. drifts: every client is new, and every hundred thousand messages ten pages are."""
    whole = int(at)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
    row = {
        "ts": f"{stamp}.{int((at - whole) * 1e6):06}Z",
        "client": f"c{number if drifts else number * 7919 % 5000}",
        "page": f"/p/{number // 100_000 * 10 + number % 10 if drifts else number % 100}",
        "status": (200, 404, 500)[number % 3],
        "bytes": number,
        "ms": number % 977,
        "agent": AGENT,
        "country": "DE",
    }
    return json.dumps(row).encode()


def send(address: str, messages: int, rate: float | None) -> None:
    """Fill the topic, at a rate with the time of now, or at once with times 100 us apart."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "log_level": "0"})
    begun = time.time()
    for number in range(messages):
        at = 1_767_225_600 + number / 10_000 if rate is None else time.time()
        while True:
            try:
                producer.produce("requests", value=message(number, at), partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 20 == 0:
            producer.poll(0)
            if rate is not None:
                time.sleep(max(begun + number / rate - time.time(), 0))
    producer.flush(60)


def backlog(address: str, folder: Path, messages: int) -> None:
    """CPU of the whole command, and of one that finds nothing new, which is its start."""
    send(address, messages, None)
    (folder / "job.toml").write_text(JOB.format(address=address, by="status", trigger="available-now"))
    seconds = list[float]()
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(SERVE, cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    each = (seconds[0] - seconds[1]) / messages
    print(  # noqa: T201
        f"{messages:,} messages of {len(message(messages, time.time()))} bytes: {each * 1e6:.2f} us of CPU each, "
        f"{1 / each:,.0f} a second and core; start {seconds[1]:.2f} s of CPU; "
        f"at most {after.ru_maxrss / 1024:.0f} MB"
    )


def live(address: str, folder: Path, rate: float, seconds: float) -> None:
    """How long after a window's end its answers are in the table; memory in between."""
    (folder / "job.toml").write_text(JOB.format(address=address, by="status", trigger="20 milliseconds"))
    sender = multiprocessing.Process(target=send, args=(address, int(rate * seconds), rate))
    service = subprocess.Popen(
        [sys.executable, "-m", "skyband", "serve", "job.toml"], cwd=folder, stderr=subprocess.DEVNULL
    )
    sender.start()
    seen: dict[str, float] = {}
    sizes = list[int]()
    while sender.is_alive():
        for at in new_moments(folder / "board.db", seen):
            seen[at] = time.time()
            sizes.append(resident(service.pid))
        time.sleep(0.002)
    service.send_signal(signal.SIGTERM)
    service.wait()
    ends = {at: datetime.fromisoformat(f"{at}+00:00").timestamp() for at in seen}
    late = sorted(1000 * (when - ends[at]) for at, when in [*seen.items()][5:])
    p99 = late[int(0.99 * (len(late) - 1))]
    print(  # noqa: T201
        f"{rate:,.0f} messages a second, {len(late)} moments: an answer is in the table "
        f"{statistics.median(late):.0f} ms after its window (median), {p99:.0f} ms (p99), {late[-1]:.0f} ms (most); "
        f"memory {sizes[len(sizes) // 2]} MB half way, {sizes[-1]} MB at the end"
    )


def resident(pid: int) -> int:
    """The memory of a process, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


def write_files(folder: Path, rate: float, seconds: float) -> None:
    """Files of messages of half a second each, with the time of now. Those of five minutes ago are removed."""
    begun, number = time.time(), 0
    for part in range(int(2 * seconds)):
        until = int(rate * (part + 1) / 2)
        at = time.time()
        lines = b"\n".join(message(each, at, drifts=True) for each in range(number, until))
        (folder / "_part").write_bytes(lines)
        (folder / "_part").rename(folder / f"{part:06}.json")
        (folder / f"{part - 600:06}.json").unlink(missing_ok=True)
        number = until
        time.sleep(max(begun + (part + 1) / 2 - time.time(), 0))


def soak(folder: Path, rate: float, seconds: float, plot: Path | None) -> None:
    """Memory each ten seconds, and how far the newest answer is behind the clock.

    From files: the broker of the tests takes more CPU than the service, and keeps all messages in memory.
    """
    (folder / "in").mkdir()
    job = JOB.format(address="", by="page", trigger="100 milliseconds")
    options = next(line for line in job.splitlines() if line.startswith("options"))
    (folder / "job.toml").write_text(job.replace(options, 'path = "in"').replace('"kafka"', '"json"'))
    writer = multiprocessing.Process(target=write_files, args=(folder / "in", rate, seconds))
    service = subprocess.Popen(SERVE, cwd=folder, stderr=subprocess.DEVNULL)
    writer.start()
    begun, minutes, sizes, behind = time.time(), list[float](), list[int](), list[float]()
    while writer.is_alive():
        writer.join(10)
        newest = max(new_moments(folder / "board.db", {}), default=None)
        if newest is not None:
            minutes.append((time.time() - begun) / 60)
            sizes.append(resident(service.pid))
            behind.append(time.time() - datetime.fromisoformat(f"{newest}+00:00").timestamp())
    service.send_signal(signal.SIGTERM)
    service.wait()
    tenth = -(-len(sizes) // 10)
    print(  # noqa: T201
        f"{rate:,.0f} messages a second for {minutes[-1]:.0f} minutes: memory {max(sizes[:tenth])} MiB at most in the "
        f"first tenth, {max(sizes[-tenth:])} in the last, {max(sizes)} in all; the newest answer at most "
        f"{max(behind):.1f} s behind the clock, half the time {statistics.median(behind):.1f}"
    )
    if plot is not None:
        import altair
        import pandas

        rows = pandas.DataFrame({"minute": minutes, "memory, MiB": sizes})
        scale = altair.Scale(domain=[0, max(sizes) * 1.1])
        line = altair.Chart(rows).mark_line().encode(x="minute", y=altair.Y("memory, MiB", scale=scale))
        line.properties(width=560, height=180).save(plot)


def new_moments(board: Path, seen: dict[str, float]) -> list[str]:
    """The moments in the table that were not there before."""
    if not board.exists():
        return []
    with closing(sqlite3.connect(f"file:{board}?mode=ro", uri=True, timeout=0.05)) as connection:
        try:
            found = [str(at) for (at,) in connection.execute("SELECT DISTINCT at FROM counts ORDER BY at DESC LIMIT 6")]
        except sqlite3.OperationalError:  # no table yet, or it is being written to
            return []
    return [at for at in reversed(found) if at not in seen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["backlog", "live", "soak"])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=20_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--plot", type=Path, help="write a picture of a soak to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.mode == "soak":
            soak(Path(folder), given.rate, given.seconds, given.plot)
            return
        with kafka_broker.running(Path(folder)) as address:
            kafka_broker.make_topic(address, "requests", PARTITIONS)
            if given.mode == "backlog":
                backlog(address, Path(folder), given.messages)
            else:
                live(address, Path(folder), given.rate, given.seconds)


if __name__ == "__main__":
    main()
