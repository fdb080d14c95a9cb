"""total-ranker/exact: the totals of every pane."""
