"""Which of the frame's hosts has the small groups that a query's table answers."""

from skyband.groups.small_groups.host import SmallGroups
from skyband.groups.small_groups.table import SmallGroupTable
from skyband.groups.small_groups.windows_in_rows import SmallRowWindows
from skyband.groups.small_groups.windows_in_time import SmallTimeWindows
from skyband.queries.query import Query


def host_of(groups: SmallGroupTable | SmallGroups, query: Query) -> SmallGroups:
    """The host of a table, as the windows of the query are; small groups that are no table's are their own."""
    if isinstance(groups, SmallGroups):
        return groups
    return SmallRowWindows(groups, query.subqueries) if query.rows else SmallTimeWindows(groups)
