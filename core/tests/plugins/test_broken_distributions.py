"""Damaged or misbehaving distributions are listed with the cause and do not affect the others."""

import itertools
import re
from types import SimpleNamespace

import attrs
import pytest
from skyband import BackendInfo, QueryInfo, hookimpl
from skyband.config.parameters import parameters_of
from skyband.errors import ConfigError, PluginError, SnapshotError, suggest
from skyband.registry import Registry, installed, load_class, revive
from skyband.registry.discovery import MOST_ENTRIES, Plugin, discover, read_hooks
from skyband.roles import Sketch

INFO = BackendInfo("sketch", "mine", "nowhere:Nothing", "a sketch", "exact", "a paper")


class Speechless(Exception):
    """An error that cannot say what it is."""

    def __str__(self):
        raise RuntimeError("no words")


def read(answer, name="skyband_backends"):
    def hook():
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    plugin = Plugin("acme", "1.0", "x", "acme_hooks")
    return read_hooks(plugin, SimpleNamespace(**{name: hookimpl(hook, specname=name)}))


def endless(*entries):
    return lambda: itertools.cycle(entries)


def named(value):
    """A test id that is the same in every process: no addresses, no million characters."""
    return re.sub(r" at 0x\w+", "", repr(value))[:60]


@pytest.mark.parametrize("name", ["skyband_backends", "skyband_queries"])
@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (Speechless(), "Speechless"),
        (RecursionError("deep"), "RecursionError: deep"),
        (MemoryError(), "MemoryError"),
        ({"sketch": "mine"}, "it holds 'sketch'"),
        (b"mine", "must return a list"),
        (object(), "must return a list"),
        ([None], "it holds None"),
        ([[INFO]], "it holds ["),
        ([BackendInfo], "it holds <class"),
        ("x" * 10**6, "must return a list"),
        (endless(None), f"more than {MOST_ENTRIES} entries"),
        (endless(INFO), f"more than {MOST_ENTRIES} entries"),
    ],
    ids=named,
)
def test_a_hook_that_answers_anything_else(name, answer, cause):
    plugin = read(answer, name)
    assert cause in plugin.problem
    assert len(plugin.problem) < 300
    assert (plugin.backends, plugin.queries, plugin.manager) == ((), (), None)


def test_a_generator_that_fails_half_way_brings_nothing():
    def half():
        yield INFO
        raise RuntimeError("no luck")

    assert read(half).problem == "RuntimeError: no luck"


def test_an_empty_hook_brings_no_backend_and_is_not_a_fault():
    assert read(None).problem is None
    assert read(()).backends == ()


@pytest.mark.parametrize("module", [None, 3, "text", object(), {}])
def test_an_entry_point_that_is_not_a_module(module):
    assert read_hooks(Plugin("acme", "1.0", "x", "acme_hooks"), module).problem


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ({"entry_points.txt": "[skyband]\nacme_hooks\n"}, "entry points"),
        ({"entry_points.txt": "[skyband]\nx = not a module!\n"}, "could not be imported"),
        ({"entry_points.txt": "[skyband]\nx = os:no.such.thing\n"}, "could not be imported: AttributeError"),
        ({"entry_points.txt": b"[skyband]\n\xff\xfe = \xff\n"}, "entry points"),
        ({"METADATA": b"Metadata-Version: 2.1\nName: acme\n"}, None),
        ({"METADATA": b""}, "unnamed"),
        ({"METADATA": b"Name: \xff\xfe\nVersion: 1.0\n"}, "unnamed"),
    ],
    ids=named,
)
def test_a_damaged_distribution_harms_no_other(site, files, cause):
    site.install_sketch("acme", "mine")
    site.install_sketch("zeta", "other")
    for name, content in files.items():
        path = site.folder / "acme-1.0.dist-info" / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = {plugin.distribution: plugin for plugin in discover()}
    assert found["zeta"].backends
    assert found["skyband"].roles
    if cause == "unnamed":
        assert "acme" not in found
    elif cause is None:
        assert found["acme"].version == "unknown"
    else:
        assert cause in found["acme"].problem
    ran = site.run("backends")
    assert ran.returncode == 0, ran.stderr
    assert "sketch/other" in ran.stdout


def test_two_entry_points_of_one_distribution_that_claim_one_backend():
    twice = [Plugin("acme", "1.0", name, "x", (INFO,)) for name in ("a", "b")]
    made = Registry(twice)
    assert {entry.problem for entry in made.listing()} == {"claimed by two entry points of acme: upgrade or remove it"}
    with pytest.raises(PluginError, match="two entry points of acme"):
        made.bind("sketch", "mine", "acme")


def test_names_are_found_whatever_their_case():
    made = Registry([Plugin("acme", "1.0", "x", "x", (attrs.evolve(INFO, name="k-skb"),))])
    with pytest.raises(ConfigError, match="did you mean 'k-skb'"):
        made.bind("sketch", "K-SKB")
    assert suggest("CLIENTID", ["clientId", "ts"]) == "did you mean 'clientId'?"


@pytest.mark.parametrize("reason", ["", None, 3, ["no"]])
def test_missing_capabilities_need_a_reason(reason):
    with pytest.raises(ConfigError, match="lacks: merge needs a reason"):
        attrs.evolve(INFO, lacks={"merge": reason})


@pytest.mark.parametrize("error", [3, ["epsilon"]])
def test_the_parameter_of_the_error_is_a_name(error):
    with pytest.raises(ConfigError, match="error: must be the name of a parameter, or None"):
        attrs.evolve(INFO, error=error)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "Top K"}, "kind: must be lower-case words"),
        ({"kind": "größe"}, "kind: must be lower-case words"),
        ({"factory": "module"}, "factory: must be written"),
        ({"summary": ""}, "summary: must be a sentence"),
        ({"api": "1"}, "api: must be a whole number"),
    ],
)
def test_a_wrong_description_of_a_query(changes, said):
    with pytest.raises(ConfigError, match=said):
        QueryInfo(**{"kind": "top-k", "factory": "a.b:C", "summary": "a query", **changes})


BACKENDS = """
    from attrs import Factory, define, field
    import numpy as np
    from skyband.config.parameters import integer
    from skyband.roles import Sketch

    class Whole(Sketch):
        name = "mine"
        def _update(self, times, keys): ...
        def estimate(self, since): return 0.0
        def _merge(self, other): ...
        def __len__(self): return 0
        nbytes = 0
        def _state(self): return {"now": np.array([1])}
        def _load(self, state): raise IndexError("no such cell")

    class Undecorated(Whole):
        size: int = integer(1, help="its size")

    @define(eq=False)
    class Partial(Sketch):
        name = "mine"

    @define(eq=False)
    class Computed(Whole):
        size: int = integer(1, help="its size")
        twice: int = field()
        @twice.default
        def _twice(self): return 2 * self.size

    def function(**parameters): return Whole()

    instance = Whole()
"""


@pytest.fixture
def made(site):
    site.module("made_hooks", BACKENDS)
    return lambda name: load_class(attrs.evolve(INFO, factory=f"made_hooks:{name}"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("function", "is not a subclass of Sketch"),
        ("instance", "is not a subclass of Sketch"),
        ("Sketch", "is named None"),
        ("Partial", "has no __len__, _load"),
        ("Undecorated", "is not made by attrs.define, so that its field size would not be a parameter"),
    ],
)
def test_a_factory_that_cannot_make_a_backend(made, name, said):
    with pytest.raises(PluginError, match=said):
        made(name)


@pytest.mark.parametrize("error", ["epsilon", "sise", ""])
def test_the_parameter_that_bounds_the_error_is_one_of_the_backend_s(made, error):
    bounded = attrs.evolve(INFO, factory="made_hooks:Computed", guarantee="bounded", error=error)
    with pytest.raises(PluginError, match=f"Computed has no parameter '{error}': name the parameter that bounds its"):
        load_class(bounded)
    for sound in ("size", None):
        assert load_class(attrs.evolve(bounded, error=sound)).name == "mine"


def test_a_default_computed_from_other_parameters_can_be_described(made):
    described = {parameter.name: parameter.default for parameter in parameters_of(made("Computed"))}
    assert described == {"size": 1, "twice": "computed"}


def test_a_backend_that_cannot_take_over_its_own_state(made):
    whole = made("Whole")
    with pytest.raises(SnapshotError, match="sketch/mine does not fit the installed version: IndexError: no such cell"):
        revive(whole, whole().snapshot())


def test_commands_that_are_none_are_left_out(site):
    site.install(
        "acme",
        """
        import click
        from skyband import hookimpl

        @hookimpl
        def skyband_commands(group):
            group.commands["nonsense"] = 3

            @group.command("größe")
            def size():
                "Say how large it is."
                click.echo("large")
    """,
    )
    site.install("beta", "from skyband import hookimpl\n@hookimpl\ndef skyband_commands(group): raise SystemExit(7)")
    ran = site.run("--help")
    assert ran.returncode == 0
    assert "Say how large it is." in ran.stdout
    assert "acme adds 'nonsense', not a command; skipped" in ran.stderr
    assert "beta could not add its commands: SystemExit: 7" in ran.stderr
    assert site.run("größe").stdout == "large\n"
    assert site.run("nonsense").returncode == 2


def test_what_is_installed_here_is_whole():
    assert [plugin.distribution for plugin in installed().plugins if plugin.problem] == []
    assert all(issubclass(load_class(info), Sketch) for info in installed().backends("sketch"))
