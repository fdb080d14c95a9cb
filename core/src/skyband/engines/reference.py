"""The local engine for the registry. It imports the operator only when a query begins."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from skyband.engines.engine import InProcessEngine

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.engines.local import LocalRun
    from skyband.queries.query import Query
    from skyband.registry import Binding


class LocalEngine(InProcessEngine):
    """One operator in this process. It needs no Java, and its answers are the reference for every engine."""

    name: ClassVar[str] = "local"

    def begin(self, query: "Query", bindings: Mapping[str, "Binding"], schema: "pa.Schema") -> "LocalRun":
        from skyband.engines.local import LocalRun
        from skyband.operator.operator import Operator

        return LocalRun(Operator(query, bindings, schema))
