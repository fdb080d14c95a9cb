"""Amounts that a card paid: the largest of the last minute and of the last ten, at two moments."""

import skyband

largest = skyband.create("row-aggregate", "max")
second = 1_000_000
largest.update(times=[0, 200 * second, 580 * second, 640 * second], values=[80.0, 12.5, 7.5, 30.0])
now = [600 * second, 650 * second]
for minutes in (1, 10):
    since = [moment - 60 * minutes * second for moment in now]
    print(minutes, "minutes:", largest.over(since, now).to_pylist())
restored = skyband.restore(largest.snapshot())
print(len(largest), "values kept; restored is equal:", restored == largest)
