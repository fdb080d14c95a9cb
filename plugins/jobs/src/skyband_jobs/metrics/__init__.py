"""Metrics of a run for Prometheus: an endpoint on this machine, or a file for node_exporter."""
