"""Discovery loads every plugin separately and records its faults."""

import json
from types import SimpleNamespace

import pytest
from skyband import BackendInfo, hookimpl
from skyband.registry.discovery import MOST_ENTRIES, TOOLS, Plugin, discover, read_hooks


def info(name="mine", **changes):
    return BackendInfo(
        **{
            "role": "sketch",
            "name": name,
            "factory": "nowhere:Nothing",
            "summary": "a sketch",
            "guarantee": "exact",
            "reference": "a paper",
            **changes,
        }
    )


def hooks(answer, name="skyband_backends"):
    """A module whose hook gives `answer`, or raises it."""

    def hook():
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    return SimpleNamespace(**{name: hookimpl(hook, specname=name)})


def read(answer, name="skyband_backends"):
    return read_hooks(Plugin("acme", "1.0", "x", "acme_hooks"), hooks(answer, name))


def test_an_installed_plugin_is_found(site):
    site.install_sketch("acme-sketch", "mine", factory := "nowhere:Nothing")
    found = {plugin.distribution: plugin for plugin in discover()}
    assert [entry.key for entry in found["acme-sketch"].backends] == ["sketch/mine"]
    assert found["acme-sketch"].version == "1.0"
    assert found["acme-sketch"].problem is None
    assert found["acme-sketch"].backends[0].factory == factory
    assert found["skyband"].roles, "core's own roles come through an entry point as well"


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import no_such_module_anywhere", "could not be imported: ModuleNotFoundError: No module named"),
        ("raise RuntimeError('half\\nway')", "could not be imported: RuntimeError: half way"),
        ("import sys\nsys.exit(3)", "could not be imported: SystemExit: 3"),
        ("def f(:", "could not be imported: SyntaxError"),
        ("x = 1", "implements no hook"),
        (
            "from skyband import hookimpl\n@hookimpl\ndef skyband_backend(): return []",
            "PluginValidationError: unknown hook 'skyband_backend'; did you mean 'skyband_backends'",
        ),
        (
            "from skyband import hookimpl\n@hookimpl\ndef skyband_oracles(): return []",
            "; if a later Skyband has it, upgrade skyband",
        ),
        (
            "from skyband import hookimpl\n@hookimpl\ndef skyband_backends(role): return []",
            "PluginValidationError: Plugin 'acme:acme_hooks' for hook 'skyband_backends' hookimpl definition",
        ),
    ],
)
def test_a_broken_plugin_says_why_and_affects_no_other(site, code, cause):
    whole = {plugin.distribution for plugin in discover()}
    site.install("acme", code)
    site.install_sketch("zeta", "mine")
    found = {plugin.distribution: plugin for plugin in discover()}
    assert cause in found["acme"].problem
    assert found["acme"].backends == ()
    assert found["zeta"].backends
    assert found.keys() == whole | {"acme", "zeta"}


def test_a_half_imported_plugin_does_not_count_on_the_second_try(site):
    site.install("acme", "from skyband import hookimpl\nimport no_such_module_anywhere")
    for _ in range(2):
        broken = {plugin.distribution: plugin.problem for plugin in discover()}["acme"]
        assert "no_such_module_anywhere" in broken


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (ValueError("no"), "ValueError: no"),
        (KeyError(), "KeyError"),
        ("sketch", "must return a list of BackendInfo (got 'sketch')"),
        (7, "must return a list of BackendInfo (got 7)"),
        ([info(), "sketch/mine"], "it holds 'sketch/mine'"),
        ([info(), info()], "sketch/mine is listed twice"),
        (lambda: (info(f"x{n}") for n in range(MOST_ENTRIES + 1)), "more than 1000 entries"),
        (lambda: iter(lambda: info(), None), "more than 1000 entries"),
    ],
)
def test_a_hook_that_answers_wrongly(answer, cause):
    plugin = read(answer)
    assert cause in plugin.problem
    assert plugin.backends == ()
    assert plugin.manager is None


def test_a_generator_is_as_good_as_a_list():
    assert [entry.name for entry in read(lambda: (info(name) for name in ("a", "b"))).backends] == ["a", "b"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "K-Skb"}, "name: must be lower-case words"),
        ({"name": "größe"}, "name: must be lower-case words"),
        ({"name": "a/b"}, "name: must be lower-case words"),
        ({"name": ""}, "name: must be lower-case words"),
        ({"name": None}, "name: must be lower-case words"),
        ({"factory": "pkg.module"}, "factory: must be written"),
        ({"factory": "os:system('x')"}, "factory: must be written"),
        ({"guarantee": "exakt"}, "did you mean 'exact'?"),
        ({"lacks": {"mrege": "no"}}, "did you mean 'merge'?"),
        ({"lacks": ["merge"]}, "lacks: must map capabilities to reasons"),
        ({"summary": ""}, "summary: must be a sentence"),
        ({"api": "1"}, "api: must be a whole number"),
    ],
)
def test_a_wrong_description_is_refused_when_it_is_made(changes, said):
    with pytest.raises(ValueError) as caught:
        info(**changes)
    assert said in str(caught.value)


@pytest.mark.parametrize("wanted", ["acme-one", "Acme_One", " acme.one ,zeta"])
def test_the_environment_restricts_what_loads(site, monkeypatch, wanted):
    site.install_sketch("acme-one", "one")
    site.install("acme-two", "raise RuntimeError")
    monkeypatch.setenv("SKYBAND_PLUGINS", wanted)
    assert sorted({plugin.distribution for plugin in discover()} - {*TOOLS}) == ["acme-one", "skyband"]


def test_an_empty_restriction_leaves_core_and_its_tools(site, monkeypatch):
    site.install_sketch("acme", "one")
    monkeypatch.setenv("SKYBAND_PLUGINS", "")
    assert {plugin.distribution for plugin in discover()} == {"skyband", *TOOLS}


def test_a_distribution_seen_twice_on_the_path_counts_once(site, tmp_path, monkeypatch):
    site.install_sketch("acme", "one")
    other = type(site)(tmp_path / "later")
    other.install_sketch("Acme", "two")
    monkeypatch.syspath_prepend(str(site.folder))
    assert [plugin.distribution for plugin in discover()].count("acme") == 1


def test_a_distribution_that_hides_another_of_its_name_hides_its_plugins(site, tmp_path, monkeypatch):
    site.install_sketch("acme-sketch", "mine")
    first = tmp_path / "first" / "Acme_Sketch-2.0.dist-info"
    first.mkdir(parents=True)
    (first / "METADATA").write_text("Metadata-Version: 2.1\nName: Acme.Sketch\nVersion: 2.0\n")
    monkeypatch.syspath_prepend(str(first.parent))
    assert "acme-sketch" not in {plugin.distribution for plugin in discover()}
    (first / "METADATA").unlink()
    (found,) = (plugin for plugin in discover() if plugin.distribution == "acme-sketch")
    assert found.version == "1.0", "what is half removed hides nothing"


def test_the_metadata_of_distributions_that_are_no_plugins_is_not_read(site):
    other = site.folder / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").mkdir()
    (other / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n")
    assert "other" not in {plugin.distribution for plugin in discover()}


def test_output_of_a_plugins_import_does_not_go_to_stdout(site):
    site.install(
        "acme", "print('welcome to acme')\nfrom skyband import hookimpl\n@hookimpl\ndef skyband_backends(): return []"
    )
    ran = site.run("backends", "--json")
    assert ran.returncode == 0 and json.loads(ran.stdout)
    assert ran.stderr.startswith("welcome to acme\n")


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_a_hook_may_return_as_many_entries_as_are_named_and_not_one_more(beyond):
    plugin = read([info(f"x{number}") for number in range(MOST_ENTRIES + beyond)])
    assert len(plugin.backends) == (0 if beyond > 0 else MOST_ENTRIES + beyond)
    assert (plugin.problem is None) == (beyond <= 0)
