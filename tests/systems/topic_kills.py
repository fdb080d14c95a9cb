"""Micro-batches sent to a compacted topic by processes of which each but the last is killed at some message.

`python topic_kills.py ADDRESS TOPIC KILLS BATCHES FOLDER`
forks itself, as a process that loads everything costs a second.
"""

import os
import random
import signal
import sys
from importlib import import_module
from pathlib import Path

from skyband_jobs.formats import NetChanges, open_sink
from topic_trial import QUICK, TopicTrial

PER_BATCH = 3


def write(address, topic, options, progress, batches, dies_at):
    """Go on after the last micro-batch that was noted, as Spark does; die before the message of this number."""
    from skyband_lakes.kafka.delivery import Delivery

    put, left = Delivery._put, dies_at

    def counted(*arguments):
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        put(*arguments)

    if dies_at is not None:
        Delivery._put = counted
    board = open_sink("kafka", topic, {"kafka.bootstrap.servers": address, **options}, key=TopicTrial.key)
    for batch in range(int(progress.read_text()), batches):
        board.write(TopicTrial().log(batch), "one", batch)
        progress.write_text(str(batch + 1))


def main(address, topic, kills, batches, folder):
    progress, chance = Path(folder, "progress"), random.Random(kills)
    progress.write_text("0")
    for module in ("confluent_kafka.admin", "skyband_jobs.formats.json_rows", "skyband_lakes.kafka.format"):
        import_module(module)
    NetChanges.of(TopicTrial().log(0), TopicTrial.key)
    options = QUICK if kills < 10 else {"kafka.log_level": "0"}
    killed = 0
    for kill in range(kills + 1):
        dies_at = chance.randrange(PER_BATCH * 2 * batches // kills) if kill < kills else None
        child = os.fork()
        if child == 0:
            write(address, topic, options, progress, batches, dies_at)
            return
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended in (0, -signal.SIGKILL)
        killed += ended != 0
    sys.stdout.write(f"{killed} {progress.read_text()}")


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:5]), sys.argv[5])
