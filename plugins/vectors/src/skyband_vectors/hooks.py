"""The hooks of skyband-vectors, imported by discovery, and so without any backend."""

from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl

_LACKS = {
    "merge": "vectors across two matchers were never compared",
    "out-of-order": "a vector's matches are reported on arrival, among the vectors before it",
}


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The vector matchers."""
    return [
        BackendInfo(
            role="vector-matcher",
            name="exact",
            factory="skyband_vectors.matching.exact:Exact",
            summary="multiplies a few learnt directions, bounds the rest, and looks again at what may match",
            guarantee="exact",
            reference="prefixes of inner products with Cauchy-Schwarz bounds: L2AP (ICDE 2014), FEXIPRO (SIGMOD 2017)",
            lacks=_LACKS,
        ),
        BackendInfo(
            role="vector-matcher",
            name="flat",
            factory="skyband_vectors.matching.flat:Flat",
            summary="multiplies each vector with the whole window, by one matrix product",
            guarantee="exact",
            reference="the definition; rounding errors of products: Higham 2002, section 3.1",
            lacks=_LACKS,
        ),
        BackendInfo(
            role="vector-matcher",
            name="projections",
            factory="skyband_vectors.matching.projections:Projections",
            summary="verified bands of signs of random projections: for large windows, with a declared recall",
            guarantee="bounded",
            error=None,
            reference="Charikar, STOC 2002; Indyk and Motwani, STOC 1998",
            lacks=_LACKS,
        ),
    ]


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The role of the query near-vectors."""
    return [
        RoleInfo(
            name="vector-matcher",
            interface="skyband_vectors.role:VectorMatcher",
            default="exact",
            distribution="skyband-vectors",
            summary="which earlier vectors in the window a vector is near to",
            conformance="skyband_vectors.conformance",
        )
    ]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The query near-vectors."""
    return [
        QueryInfo(
            "near-vectors",
            "skyband_vectors.near_vectors.query:NearVectors",
            "which earlier vectors in the window each row is near to, and which rows are the first of their kind",
            examples="skyband_vectors.near_vectors.examples:EXAMPLES",
            presentation="skyband_vectors.near_vectors.presentation:NearVectorsPresentation",
        )
    ]
