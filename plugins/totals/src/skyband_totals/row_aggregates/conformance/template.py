"""What `skyband new --role row-aggregate` starts with: a simple correct aggregate."""

from skyband_specs.scaffold.project import Template

TEMPLATE = Template(
    summary="the entropy of the values, in bits",
    reference="the definition: Shannon 1948",
    lacks={
        "merge": "row-features keeps rows, and asks about them",
        "out-of-order": "rows are kept by time",
    },
    example="""\
entropy = skyband.create("row-aggregate", "mine")
entropy.update(times=np.arange(4), values=["books", "shoes", "books", "books"])
print(entropy.over(since=[0, 2], until=[4, 4]).to_pylist())  # [0.8112781244591328, 0.0]""",
    job="""\
[query]
kind = "row-features"
time = "ts"
by = ["card"]
windows = ["1 day"]
features = [{ of = "mine", column = "shop" }]""",
    source="skyband_totals.row_aggregates.conformance.minimal",
)
