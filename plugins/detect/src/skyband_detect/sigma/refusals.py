"""What of a Sigma rule cannot be said as a rule of detections."""


class RefusedError(Exception):
    """A key of a Sigma rule that cannot be said, and why."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{key}: {why}")
