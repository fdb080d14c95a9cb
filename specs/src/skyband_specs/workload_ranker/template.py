"""What `skyband new --role workload-ranker` starts with: the simplest correct backend."""

from skyband_specs.scaffold.project import Template

TEMPLATE = Template(
    summary="the rows of future windows, sorted when an answer is due",
    reference="the definition: the top k of [T - window, T) at every moment T of a query",
    lacks={
        "merge": "nothing merges these; the answers of two can be joined instead",
        "out-of-order": "windows follow a clock that never goes back",
        "any-subquery": "it keeps the rows of its own queries, and answers nothing else",
    },
    example="""\
ranker = skyband.create("workload-ranker", "mine", queries=[(4, 2, 1)])  # window, slide, k
for answer in ranker.update(times=[1, 2, 4], objects=[7, 8, 9], scores=[0.5, 0.25, 0.75]):
    print(answer.at, answer.objects, answer.scores)
# 2 [7] [0.5]
# 4 [7] [0.5]""",
    source="skyband_specs.workload_ranker.minimal",
)
