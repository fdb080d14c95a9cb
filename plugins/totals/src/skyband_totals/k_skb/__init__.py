"""total-ranker/k-skb: a uniform sample of the rows since any moment."""
