"""State from an earlier version of a plugin: accepted if it fits, rejected otherwise."""

import sys

import pytest
from families import events, family
from skyband.engines.local import LocalRun
from skyband.errors import SnapshotError
from skyband.registry import installed

ROWS = events(1, rows=200)
PLUGIN = """
    from skyband import BackendInfo, hookimpl

    @hookimpl
    def skyband_backends():
        return [BackendInfo("sketch", "acme", "acme_sketch:Acme", "a sketch", "exact", "a paper")]
"""
SKETCH = """
    from attrs import define
    from skyband.config.parameters import integer
    from skyband_distinct.exact.backend import Exact

    @define(eq=False)
    class Acme(Exact):
        name = "acme"
        {more}
"""


VERSIONS = {
    "1.0.0": "size: int = integer(8, at_least=1, help='a size')",
    "1.0.1": "size: int = integer(8, at_least=1, help='a size')\n        more: int = integer(1, help='new')",
    "2.0.0": "",
}


@pytest.fixture
def acme(site, monkeypatch):
    """Puts a version of a plugin in place of the one before."""

    def install(version):
        (site.folder / version).mkdir()
        plugin = type(site)(site.folder / version / "site")
        plugin.module("acme_sketch", SKETCH.format(more=VERSIONS[version]))
        plugin.install("acme", PLUGIN, version)
        monkeypatch.syspath_prepend(str(plugin.folder))
        for module in ("acme_sketch", "acme_hooks"):
            sys.modules.pop(module, None)
        installed.cache_clear()
        assert {plugin.distribution: plugin.version for plugin in installed().plugins}["acme"] == version
        return LocalRun.start(family("distinct-count"), ROWS.schema, {"sketch": "acme"})

    yield install
    installed.cache_clear()
    sys.modules.pop("acme_sketch", None)


def test_a_patch_release_resumes_and_one_that_drops_a_parameter_says_so(acme):
    run = acme("1.0.0")
    run.push(ROWS.combine_chunks().to_batches()[0])
    held, latest, end = run.operator.snapshot(), run._latest, run.finish()
    patched = acme("1.0.1")
    patched.operator.restore(held)
    patched._latest = latest
    assert patched.finish().equals(end)
    broken = acme("2.0.0")
    fresh = broken.operator.snapshot()
    with pytest.raises(SnapshotError, match="sketch/acme does not fit the installed version: size: unknown"):
        broken.operator.restore(held)
    assert broken.operator.snapshot() == fresh, "and nothing of it was taken"
