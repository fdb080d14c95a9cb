"""What `skyband new --role window` starts with: the simplest correct backend."""

from skyband_specs.scaffold.project import Template

TEMPLATE = Template(
    summary="keeps the probabilities, and adds them up again for every decision",
    reference="the definition: the shortest suffix that holds `size` existing tuples with probability alpha",
    lacks={
        "merge": "nothing merges these; the answers of two can be joined instead",
        "out-of-order": "positions count tuples in their order of arrival",
    },
    example="""\
window = skyband.create("window", "mine", size=2, alpha=0.75)
print(window.append(np.full(6, 0.5)))  # [0 0 0 0 0 1]
print(window.presence())  # [0.3125 0.5    0.75   1.     1.    ]""",
    source="skyband_specs.window.minimal",
)
