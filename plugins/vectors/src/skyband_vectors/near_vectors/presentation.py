"""How answers of near-vectors are shown."""

from skyband.queries.presentation import QueryPresentation

from skyband_vectors.near_vectors.query import NearVectors


class NearVectorsPresentation(QueryPresentation[NearVectors]):
    """Rows and their matches."""

    chart = "pairs"
