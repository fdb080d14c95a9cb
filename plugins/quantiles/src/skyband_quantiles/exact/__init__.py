"""quantile-sketch/exact: all rows of the longest window in queues by value."""
