"""Each names the place, the value and the remedy, and leaves the object unchanged."""

import skyband

sketch = skyband.create("sketch", "exact")
for broken in (
    lambda: skyband.create("sketch", "k-skb", epsilon=2, dleta=0.05),
    lambda: sketch.update(times=[1, 2], keys=[7]),
    lambda: skyband.restore(sketch.snapshot()[:-1]),
):
    try:
        broken()
    except skyband.SkybandError as error:
        print(type(error).__name__)
        print("   ", str(error).replace("\n", "\n    "))
