"""The data of Dallachiesa et al. (KAIS 2015), section 7.1: series of the UCR archive, made uncertain."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from skyband_specs.matcher.streams import MatcherStream, perturbed


def _file() -> Path | None:
    folder = os.environ.get("SKYBAND_DATA")
    return Path(folder) / "ucr17_train.parquet" if folder else None


def datasets() -> list[str]:
    """The data sets of the archive; without SKYBAND_DATA, a random walk."""
    path = _file()
    return pc.unique(pq.read_table(path, columns=["dataset"])["dataset"]).to_pylist() if path else ["random walk"]


def uncertain(dataset: str, rows: int, seed: int, samples: int = 10) -> MatcherStream:
    """Uncertain tuples around the values of a data set: its series in random order, end to end."""
    rng, path = np.random.default_rng(seed), _file()
    if path is None:
        walk = rng.normal(0, 1, rows).cumsum()
        plain: Any = (walk - walk.mean()) / walk.std()
    else:
        held = pq.read_table(path, filters=[("dataset", "=", dataset)])["values"].to_pylist()
        plain = np.resize(np.concatenate([held[place] for place in rng.permutation(len(held))]), rows)
    return perturbed(plain, seed, samples=samples)
