"""How answers of near-vectors are shown."""

from skyband.queries.presentation import QueryPresentation

from skyband_vectors.near_vectors.query import NearVectors


class NearVectorsPresentation(QueryPresentation[NearVectors]):
    """Stories over time, and the similarities of the best matches."""

    chart = "skyband_vectors.near_vectors.drawing:draw"
