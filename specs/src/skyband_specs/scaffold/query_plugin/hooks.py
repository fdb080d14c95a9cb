"""The query of this distribution; imported to list it, so it imports no query."""

from skyband import QueryInfo, hookimpl


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The kinds of query."""
    return [
        QueryInfo(
            kind="mine",
            factory="skyband_specs.scaffold.query_plugin.query:MineQuery",
            summary="the sum of a column of whole numbers over a sliding window",
            api=1,
            examples="skyband_specs.scaffold.query_plugin.examples:EXAMPLES",
        ),
    ]
