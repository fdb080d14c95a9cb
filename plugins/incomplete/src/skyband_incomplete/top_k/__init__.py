"""top-k: the best objects of each window, by values that arrive in separate streams."""
