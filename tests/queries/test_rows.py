"""Rows of a micro-batch are freed when they are let go, without the collector: they are most of a turn's memory."""

import gc
from weakref import ref

import numpy as np
from families import FAMILIES, events, family
from skyband.columns.rows import Rows
from skyband.engines.local import LocalRun


def test_rows_and_slices_hold_no_circle():
    gc.disable()
    try:
        rows = Rows(np.arange(9), {"object": np.arange(9)})
        part = rows.slice(2, 7).slice(1, 3)
        assert part["object"].tolist() == [3, 4]
        assert part.once(len) == (9, 3, 5)
        kept = ref(rows)
        del rows, part
        assert kept() is None
    finally:
        gc.enable()


def test_a_turn_leaves_no_rows_to_the_collector(monkeypatch):
    begin, made = Rows.__init__, list[ref[Rows]]()

    def noted(rows, *arguments):
        begin(rows, *arguments)
        made.append(ref(rows))

    monkeypatch.setattr(Rows, "__init__", noted)
    table = events(3, rows=300, span=100).combine_chunks().to_batches()[0]
    for kind in FAMILIES:
        for by in ([], ["place"]):
            run = LocalRun.start(family(kind, by=by), table.schema)
            run.push(table.slice(0, 150))
            gc.collect(1)
            gc.disable()
            try:
                made.clear()
                run.push(table.slice(150))
                del run
                assert made, "so that something is tried"
                assert not [rows for rows in (one() for one in made) if rows is not None and len(rows)], kind
            finally:
                gc.enable()
