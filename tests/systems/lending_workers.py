"""Workers as Spark has them, for tests of what they lend each other: processes that take tasks one after the other.

In a module of its own, as what a fresh process runs must be imported there.
"""

import multiprocessing
import os
import threading

from skyband.operator.operator import Operator
from skyband_spark.frames.lent_operators import Neighbours
from skyband_spark.frames.micro_batch import process_micro_batch
from skyband_spark.frames.results_and_metrics import METRICS
from skyband_spark.frames.shard_keys import keys_of
from skyband_spark.frames.state_store import StateStore
from task_stores import Store


def run(plan, held, given, mine):
    """A task: its answers, its metrics, and what it left in the state."""
    store = Store(held)
    out = process_micro_batch(plan, StateStore(store, mine), keys_of(1)[0], [given])
    metrics = next(one for one in out[METRICS] if one is not None)
    answers = out[out[METRICS].isna()].drop(columns=METRICS)
    return answers.to_dict("list"), {**metrics, "seconds": 0.0}, store.held, store.read


def work(tasks, fault):
    """A worker: tasks come by a pipe."""
    mine, main = Neighbours(), threading.main_thread()
    place = "take_metrics" if fault == "dies at the end" else "step"
    sound = getattr(Operator, place)

    def faulty(operator, *given):
        if fault and threading.current_thread() is not main:
            if fault == "raises":
                raise ValueError("wrong")
            os._exit(1)
        return sound(operator, *given)

    setattr(Operator, place, faulty)
    while True:
        kind, *arguments = tasks.recv()
        if kind == "run":
            tasks.send(run(*arguments, mine))
        elif kind == "borrow":
            tasks.send(mine.borrow(*arguments) is not None)
        else:
            mine.working = True
            tasks.send(None)


class Worker:
    def __init__(self, fault=""):
        context = multiprocessing.get_context("spawn")
        self.tasks, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, fault), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, *task):
        return self.ask("run", *task)

    def ask(self, *task):
        self.tasks.send(task)
        return self.tasks.recv()

    def end(self):
        self.process.kill()
        self.process.join()
