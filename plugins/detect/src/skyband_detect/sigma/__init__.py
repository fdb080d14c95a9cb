"""Makes rules of Sigma's correlation files, and of the detections that they name."""
