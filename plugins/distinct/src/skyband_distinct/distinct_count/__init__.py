"""distinct-count: how many different items each window holds."""
