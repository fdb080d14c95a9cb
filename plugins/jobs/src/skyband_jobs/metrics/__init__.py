"""The figures of a run for Prometheus: an endpoint of this machine, or a file that node_exporter reads."""
