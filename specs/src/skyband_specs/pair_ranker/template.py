"""What `skyband new --role pair-ranker` starts with: the simplest correct backend."""

from skyband_specs.scaffold.project import Template

TEMPLATE = Template(
    summary="keeps every valid pair, found when its younger set arrives",
    reference="the definition: the similarity of every two sets of the window",
    lacks={
        "merge": "nothing merges these; the answers of two can be joined instead",
        "out-of-order": "windows follow a clock that never goes back",
    },
    example="""\
ranker = skyband.create("pair-ranker", "mine", k=1, window=10)
ranker.update(times=[1, 2, 3], offsets=[0, 2, 4, 7], tokens=[1, 2, 5, 6, 1, 2, 3])
left, right, similarity = ranker.top()
print(left, right, similarity.round(3))  # [0] [2] [0.667]""",
    source="skyband_specs.pair_ranker.minimal",
)
