"""What states of total-rankers answer: the objects with the largest totals."""
