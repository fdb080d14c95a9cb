"""The workloads of the thesis about MTopS, for tests and benches."""

import numpy as np
from skyband.arrays import Int64
from skyband.roles import TopKQuery

VARIED = {
    "k": ("k",),
    "slide": ("long slide",),
    "win": ("window",),
    "win, slide": ("window", "slide"),
    "all": ("window", "slide", "k"),
}
"""What figures 9.1–9.10 of the thesis vary."""


def thesis_workload(varied: str, queries: int, granularity: int = 1, seed: int = 1) -> list[TopKQuery]:
    """Queries as in chapter 9: windows of 100 K to 1 M rows, slides of 10 K to 100 K, k from 10 to 1000.

    What is not in VARIED[varied] stays as in the thesis: window 1 M, slide 100 K, k 1000 (100 if only window and slide
    vary). If only the slide varies it is from 100 K to 1 M. The thesis does not give the steps of windows and slides,
    which decide how many views there are: they are multiples of `granularity`.
    """
    rng = np.random.default_rng([13, seed])
    parts = VARIED[varied]

    def draw(low: int, high: int) -> Int64:
        return rng.integers(low // granularity, high // granularity + 1, queries) * granularity

    window = draw(100_000, 1_000_000) if "window" in parts else np.full(queries, 1_000_000)
    slide = np.full(queries, 100_000)
    if "slide" in parts:
        slide = draw(10_000, 100_000)
    if "long slide" in parts:
        slide = draw(100_000, 1_000_000)
    k = rng.integers(10, 1001, queries) if "k" in parts else np.full(queries, 100 if varied == "win, slide" else 1000)
    return [TopKQuery(*map(int, query)) for query in zip(window, slide, k, strict=True)]
