"""The base of matchers that find candidates by angle, and decide them by the definition."""

from attrs import define
from skyband.config.literals import literal
from skyband.errors import ConfigError, Problem

from skyband_vectors.matching.window_matcher import WindowMatcher
from skyband_vectors.role import COSINE


@define(eq=False)
class CosineCandidates(WindowMatcher):
    """Finds candidates by angle: for `similarity = "cosine"` with a threshold of at least 0."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.similarity != COSINE:
            message = f"must be 'cosine': {self.name} finds candidates by angle (got {self.similarity!r}); use exact"
            raise ConfigError(Problem("similarity", message))
        if self.threshold is None or self.threshold < 0:
            value = literal(self.threshold)
            message = f"must be at least 0, such as 0.9: {self.name} finds near vectors (got {value}); use exact"
            raise ConfigError(Problem("threshold", message))
