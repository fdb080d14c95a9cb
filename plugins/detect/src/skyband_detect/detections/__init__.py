"""The query detections."""
