"""The roles that core brings: what a backend of each must do."""

from skyband.roles.backend import Backend
from skyband.roles.matcher import Matcher
from skyband.roles.object_ranker import ObjectRanker
from skyband.roles.pair_ranker import PairRanker
from skyband.roles.sketch import Sketch
from skyband.roles.window import Window
from skyband.roles.workload_ranker import Answer, Answers, TopKQuery, WorkloadRanker

__all__ = [
    "Answer",
    "Answers",
    "Backend",
    "Matcher",
    "ObjectRanker",
    "PairRanker",
    "Sketch",
    "TopKQuery",
    "Window",
    "WorkloadRanker",
]
