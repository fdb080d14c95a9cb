"""object-ranker/frozen-object-ranker: every valid report, and every object scored anew for each answer."""
