"""The import of a plugin's module, where kernels can be kept and where they cannot."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from types import ModuleType


@contextmanager
def imports_print_on_stderr() -> Iterator[None]:
    """What a plugin prints when it is imported goes to stderr: stdout is for data, such as that of `--json`."""
    with redirect_stdout(sys.stderr):
        yield


def import_plugin(name: str) -> ModuleType:
    """A module by its name.

    Its kernels may be made by numba alone, which refuses to where no folder can be written to: then numba is told to
    go on without, and the module is imported again.
    """
    try:
        with imports_print_on_stderr():
            return import_module(name)
    except RuntimeError as error:
        # On use: it loads numba, which is there by now.
        from skyband.kernels.numba_compiler_patches.without_cache import is_about_the_folder

        if not is_about_the_folder(error):
            raise
    with imports_print_on_stderr():
        return import_module(name)
