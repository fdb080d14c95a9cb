"""Makes rules of Elastic's threshold and new-terms rules."""
