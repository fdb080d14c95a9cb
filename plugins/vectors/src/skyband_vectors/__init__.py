"""Near-duplicate vectors, such as embeddings, in a sliding window: exactly, by one matrix product."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"NearVectors": "near_vectors.query"})
