"""sketch/k-skb: the k smallest hashes since any moment."""
