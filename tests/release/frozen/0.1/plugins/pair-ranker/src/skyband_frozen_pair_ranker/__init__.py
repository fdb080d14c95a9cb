"""pair-ranker/frozen-pair-ranker: every valid pair, each found when its younger set comes."""
