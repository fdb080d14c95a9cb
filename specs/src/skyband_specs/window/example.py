"""A thousand tuples, each existing with a probability: the window that contains 100 existing ones."""

import numpy as np
import skyband

chances = np.random.default_rng(1).uniform(0.5, 1.0, 1_000)
window = skyband.create("window", "exact", size=100, alpha=0.95)
starts = window.append(chances)  # after each arrival, the oldest tuple kept
print("oldest kept after 100, 500 and 1000:", starts[[99, 499, 999]])
print("kept:", len(window), "of", window.end)
print("existing on average:", chances[window.start :].sum().round(1))
print("the oldest is among the last 100 with probability", window.presence()[0].round(3))
restored = skyband.restore(window.snapshot())
print(len(window), "retained; restored is equal:", restored == window)
