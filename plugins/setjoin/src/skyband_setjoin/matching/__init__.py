"""The backends of set-matcher, and what they share: bounds on the overlap, a window of sets, answers in order."""
