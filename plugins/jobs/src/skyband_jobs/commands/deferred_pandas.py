"""Keeps Arrow from importing pandas with its first array, which would cost each job a quarter of a second."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_PANDAS = "pandas"


def defer_pandas() -> None:
    """Make Arrow treat pandas as not installed until something else imports it, such as a plugin.

    Arrow looks for pandas once, to recognize its objects, so call this before the first array. It does nothing if
    pandas is already imported.
    """
    if _PANDAS in sys.modules:
        return
    import pyarrow as pa

    finder = _PandasFinder()
    sys.meta_path.insert(0, finder)
    pa.array([])
    finder.is_hidden = False


class _PandasFinder(MetaPathFinder):
    """Hides pandas; once shown, finds it as Python does and notifies Arrow."""

    is_hidden = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _PANDAS:
            return None
        if self.is_hidden:
            raise ModuleNotFoundError(f"No module named {_PANDAS!r}", name=_PANDAS)
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_notify_arrow(module: ModuleType) -> None:
                import pyarrow as pa

                run(module)
                pa.array([]).to_pandas()  # needs pandas, and so looks for it again

            spec.loader.exec_module = run_and_notify_arrow  # type: ignore[method-assign]
        return spec
