"""A run on the local engine whose rows come in random batches, and which begins anew from its state after each."""

import pyarrow as pa
from skyband.engines.local import LocalRun


def cut_run(rows: pa.Table, query, rng, backends=None) -> tuple[pa.Table, bytes]:
    """Its answers, and its state at the end; a state that was restored is the same, to the byte."""
    run, parts, start = LocalRun.start(query, rows.schema, backends), [], 0
    for stop in sorted([*rng.integers(0, len(rows) + 1, 3).tolist(), len(rows)]):
        parts += [run.push(batch) for batch in rows.slice(start, stop - start).combine_chunks().to_batches()]
        start, state = stop, run.operator.snapshot()
        again = LocalRun.start(query, rows.schema, backends)
        again.restore(state)
        assert again.operator.snapshot() == state
        run = again
    parts.append(run.finish())
    return pa.Table.from_batches(parts), run.operator.snapshot()
