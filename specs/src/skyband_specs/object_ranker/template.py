"""What `skyband new --role object-ranker` starts with: the simplest correct backend."""

from skyband_specs.scaffold.project import Template

TEMPLATE = Template(
    summary="keeps every valid report, and scores every object again for each answer",
    reference="the definition: the aggregate of an object's valid values",
    lacks={
        "merge": "nothing merges these; the answers of two can be joined instead",
        "out-of-order": "windows follow a clock that never goes back",
    },
    example="""\
ranker = skyband.create("object-ranker", "mine", k=2, window=10, streams=2)
ranker.update(times=[1, 2, 3], streams=[0, 1, 0], objects=[7, 7, 8], values=[0.5, 0.25, 0.625])
objects, scores = ranker.top()
print(objects, scores)  # [7 8] [0.75  0.625]""",
    source="skyband_specs.object_ranker.minimal",
)
