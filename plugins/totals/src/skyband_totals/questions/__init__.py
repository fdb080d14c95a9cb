"""Questions to states of total-rankers: the objects with the largest totals."""
