"""What `skyband new --role matcher` starts with: the simplest correct backend."""

from skyband_specs.scaffold.project import Template

TEMPLATE = Template(
    summary="every sample of a probe against every sample held",
    reference="the definition: the sum of Pr(u)·Pr(v) over the samples within epsilon",
    lacks={
        "merge": "nothing merges these; the answers of two can be joined instead",
        "out-of-order": "positions count tuples in their order of arrival",
    },
    example="""\
matcher = skyband.create("matcher", "mine", epsilon=0.5)
matcher.append(offsets=[0, 2, 3], values=[1.0, 2.0, 9.0], probabilities=[0.5, 0.5, 1.0])
positions, chances = matcher.match(values=[1.2], probabilities=[1.0])
print(positions, chances)  # [0] [0.5]""",
    source="skyband_specs.matcher.minimal",
)
