"""What `skyband new --role sketch` starts with: the simplest correct backend."""

from skyband_specs.scaffold.project import Template

TEMPLATE = Template(
    summary="every key with its latest time",
    reference="the definition: keys whose latest time is at or after the moment",
    example="""\
sketch = skyband.create("sketch", "mine")
sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
print(sketch.estimate(since=7))  # 3.0""",
    source="skyband_specs.sketch.minimal",
)
