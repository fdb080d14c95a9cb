"""The registry: choosing, creating and restoring a backend, and the errors when that fails."""

import doctest

import numpy as np
import pytest
import skyband
from attrs import define
from skyband import BackendInfo, snapshot
from skyband.config.parameters import integer
from skyband.errors import ConfigError, PluginError, SnapshotError
from skyband.registry import Registry, choose, installed, load_class, revive
from skyband.registry.discovery import Plugin, discover
from skyband.registry.info import API
from skyband.roles import Sketch


@define(eq=False)
class Tiny(Sketch):
    """Counts nothing; only to be made and brought back."""

    name = "tiny"
    size: int = integer(1, at_least=1, help="its size")

    def _update(self, times, keys): ...

    def estimate(self, since):
        return 0.0

    def _merge(self, other): ...

    def __len__(self):
        return 0

    @property
    def nbytes(self):
        return 0

    def _state(self):
        return {"size": np.array([self.size])}

    def _load(self, state):
        state["size"]


def info(name="tiny", factory="nowhere:Nothing", **changes):
    said = {"summary": "a sketch", "guarantee": "exact", "reference": "a paper", "role": "sketch"}
    return BackendInfo(name=name, factory=factory, **{**said, **changes})


def registry(*claims):
    """A registry of distributions, each (name, its backends)."""
    return Registry(Plugin(name, "1.0", "x", "x", tuple(backends)) for name, backends in claims)


def test_a_backend_is_bound_by_name_and_without_one_to_the_default():
    made = registry(("acme", [info("one"), info(installed().roles["sketch"].default)]))
    assert made.bind("sketch", "one").info.name == "one"
    assert made.bind("sketch").info.name == installed().roles["sketch"].default


def test_two_claims_are_an_error_that_names_both_until_one_is_chosen():
    made = registry(("acme", [info()]), ("zeta", [info(), info("other")]))
    with pytest.raises(PluginError, match='claimed by acme and zeta: choose one with distribution = "acme"'):
        made.bind("sketch", "tiny")
    assert made.bind("sketch", "tiny", "zeta").distribution == "zeta"
    assert made.bind("sketch", "other").distribution == "zeta"
    assert [entry.info.key for entry in made.listing() if entry.problem] == ["sketch/tiny", "sketch/tiny"]
    assert [entry.key for entry in made.backends()] == ["sketch/other"]


def test_a_distribution_without_the_backend_is_reported():
    with pytest.raises(ConfigError, match="tiny is not in zeta; it is in acme"):
        registry(("acme", [info()])).bind("sketch", "tiny", "zeta")


@pytest.mark.parametrize(("api", "whom"), [(API + 1, "upgrade skyband"), (API - 1, "upgrade acme")])
def test_another_api_is_listed_with_its_cause_and_cannot_be_used(api, whom):
    made = registry(("acme", [info(api=api)]))
    assert whom in made.listing()[0].problem
    with pytest.raises(PluginError, match=whom):
        made.bind("sketch", "tiny")


@pytest.mark.parametrize(
    ("api", "said"),
    [
        (1, "written for API 1, this Skyband supports 2 to 3: upgrade acme"),
        (2, None),
        (3, None),
        (4, "written for API 4, this Skyband supports 2 to 3: upgrade skyband"),
    ],
)
def test_a_plugin_of_any_api_in_the_range_works(monkeypatch, api, said):
    monkeypatch.setattr("skyband.registry.info.API_MIN", 2)
    monkeypatch.setattr("skyband.registry.info.API", 3)
    assert registry(("acme", [info(api=api)])).listing()[0].problem == said


def test_a_plugin_that_names_no_api_was_written_for_the_first():
    assert info().api == 1


def test_a_claim_of_another_api_does_not_block_one_that_works():
    made = registry(("acme", [info(api=API + 1)]), ("zeta", [info()]))
    assert made.bind("sketch", "tiny").distribution == "zeta"


def test_an_unknown_role_of_a_plugin_is_listed_with_its_cause():
    made = registry(("acme", [info(role="sketches")]))
    assert "unknown role 'sketches'; did you mean 'sketch'?" in made.listing()[0].problem


def test_unknown_names_are_reported_with_the_closest_one():
    made = registry(("acme", [info("k-skb")]))
    with pytest.raises(ConfigError, match="sketch: unknown backend 'kskb'; did you mean 'k-skb'"):
        made.bind("sketch", "kskb")
    with pytest.raises(ConfigError, match="role: unknown 'sketsh'; did you mean 'sketch'"):
        made.bind("sketsh", "k-skb")
    with pytest.raises(ConfigError, match="role: unknown 'sketsh'"):
        made.backends("sketsh")


def test_a_missing_default_names_its_distribution_and_what_did_not_load():
    made = Registry([Plugin("skyband-distinct", "1.0", "x", "x", problem="could not be imported: no numba")])
    with pytest.raises(ConfigError, match=r"pip install skyband-distinct; plugins that did not load: .*no numba"):
        made.bind("sketch")


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("no_such_module:X", "could not be imported: ModuleNotFoundError"),
        ("os:NoSuchClass", "could not be imported: AttributeError"),
        ("os:getcwd", "is not a subclass of Sketch"),
        ("collections:OrderedDict", "is not a subclass of Sketch"),
        ("skyband.roles:Window", "is not a subclass of Sketch"),
    ],
)
def test_a_factory_that_is_not_a_backend(factory, message):
    with pytest.raises(PluginError, match=message):
        load_class(info(factory=factory))


def test_a_class_whose_name_differs_is_refused(site):
    site.module("named_otherwise_hooks", "from skyband.roles import Sketch\nclass X(Sketch):\n    name = 'other'\n")
    with pytest.raises(PluginError, match="is named 'other'"):
        load_class(info(factory="named_otherwise_hooks:X"))


def test_a_factory_is_imported_only_when_it_is_created(site):
    site.install_sketch("acme", "lazy", "raises_hooks:X")
    site.module("raises_hooks", "raise RuntimeError('imported')")
    made = Registry(discover())
    bound = made.bind("sketch", "lazy")
    with pytest.raises(PluginError, match="RuntimeError: imported"):
        bound.create()


def test_create_reports_every_wrong_parameter_at_once():
    with pytest.raises(ConfigError) as caught:
        skyband.create("sketch", "pcsa-ml", epsilon=2, sede=1)
    assert "epsilon: must be" in str(caught.value)
    assert "sede: unknown; did you mean 'seed'?" in str(caught.value)


def test_every_installed_backend_can_be_loaded():
    for entry in installed().listing():
        assert entry.problem is None
        assert load_class(entry.info).role == entry.info.role


def test_restore_brings_any_backend_back():
    sketch = skyband.create("sketch", seed=3)
    sketch.update(np.arange(5), np.arange(5, dtype=np.uint64))
    assert skyband.restore(sketch.snapshot()) == sketch


def test_a_snapshot_of_what_is_not_installed_says_so():
    with pytest.raises(SnapshotError, match="holds sketch/tiny, which is not installed"):
        skyband.restore(Tiny().snapshot())


def test_revive_needs_no_installation_but_the_right_class():
    assert revive(Tiny, Tiny(3).snapshot()) == Tiny(3)
    with pytest.raises(SnapshotError, match="holds sketch/pcsa-ml, not sketch/tiny"):
        revive(Tiny, skyband.create("sketch", "pcsa-ml").snapshot())


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"role": "sketch", "name": "tiny"}, {}),
        ({"role": "sketch", "name": "tiny", "parameters": {"size": 0}}, {}),
        ({"role": "sketch", "name": "tiny", "parameters": {"sise": 1}}, {}),
        ({"role": "sketch", "name": "tiny", "parameters": {}}, {}),
    ],
)
def test_a_snapshot_that_does_not_fit_the_class(header, arrays):
    with pytest.raises(SnapshotError, match="does not fit the installed version"):
        revive(Tiny, snapshot.encode(header, arrays))


@pytest.mark.parametrize("header", [{"role": "no", "name": "no"}, {"role": "sketch", "name": "no"}])
def test_a_snapshot_of_nothing_we_know(header):
    with pytest.raises(SnapshotError, match="which is not installed"):
        skyband.restore(snapshot.encode(header, {}))


@pytest.mark.parametrize("header", [{}, {"role": "sketch"}, {"name": "pcsa-ml"}])
def test_a_snapshot_without_a_backend(header):
    with pytest.raises(SnapshotError, match="does not hold a backend's state"):
        skyband.restore(snapshot.encode(header, {}))


def test_choose_collects_the_problems_of_all_roles():
    with pytest.raises(ConfigError) as caught:
        choose(["sketch", "window"], {"sketch": 3, "window": "exakt", "matcher": "x"})
    said = str(caught.value)
    assert "matcher: this query has no such role" in said
    assert "sketch: must be a name or a table" in said
    assert "window: unknown backend 'exakt'; did you mean 'exact'?" in said


def test_choose_takes_names_tables_bindings_and_nothing():
    bound = choose(["sketch"], {"sketch": {"name": "pcsa-ml", "seed": 5}})["sketch"]
    assert bound.create().parameters()["seed"] == 5
    assert choose(["sketch"], {"sketch": bound})["sketch"] is bound
    assert choose(["sketch"])["sketch"].info.name == installed().roles["sketch"].default


def test_the_example_of_create_runs():
    examples = doctest.DocTestFinder().find(skyband.create, globs={})
    assert [doctest.DocTestRunner().run(example).failed for example in examples] == [0]


def test_a_distribution_without_the_name_is_reported_under_the_key_that_chose_it():
    """Whatever is chosen: a job shows the problem beside that key."""
    registry = Registry(discover())
    for call, field in (
        (lambda: registry.bind("sketch", "exact", "nobody"), "sketch"),
        (lambda: registry.queries.named("distinct-count", "nobody"), "distribution"),
        (lambda: registry.formats.named("delta", "nobody"), "distribution"),
    ):
        with pytest.raises(ConfigError, match="is not in nobody; it is in skyband-") as caught:
            call()
        assert [problem.field for problem in caught.value.problems] == [field]
