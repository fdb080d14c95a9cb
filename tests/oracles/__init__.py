"""Brute force for each query, written from the pages alone, and compared with the engine's answers."""

from .as_job import play_as_job
from .detections import Detections
from .distinct_count import DistinctCount
from .heavy_hitters import HeavyHitters
from .near_duplicates import NearDuplicates
from .near_vectors import NearVectors
from .playing import play
from .quantiles import Quantiles
from .row_features import RowFeatures
from .top_k import TopK
from .top_k_pairs import TopKPairs
from .top_k_workload import TopKWorkload
from .uncertain_join import UncertainJoin
from .uncertain_sum import UncertainSum

_SETS = NearDuplicates, TopKPairs
_VECTORS = (NearVectors,)
_TOTALS = DistinctCount, HeavyHitters, Quantiles, RowFeatures
_RULES = (Detections,)
_RANKS = TopK, TopKWorkload
_UNCERTAIN = UncertainJoin, UncertainSum
KINDS = {oracle.kind: oracle for oracle in (*_SETS, *_VECTORS, *_TOTALS, *_RULES, *_RANKS, *_UNCERTAIN)}


def steps_of(kind: str, seed: int) -> int:
    """Play the stream of a seed, one in sixteen as a job. Returns how many steps were compared."""
    return (play if seed % 16 else play_as_job)(KINDS[kind], seed)
