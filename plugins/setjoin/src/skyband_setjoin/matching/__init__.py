"""The backends of set-matcher, and their shared parts: bounds on the overlap, a window of sets, ordered answers."""
