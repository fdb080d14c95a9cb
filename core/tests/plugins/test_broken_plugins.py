"""`skyband backends` in a separate process, with every kind of broken plugin that we know."""

import json

import pytest

MISSPELT = "from skyband import hookimpl\n@hookimpl\ndef skyband_backend(): return []"


@pytest.fixture
def ruins(site):
    """One plugin that works among those that do not."""
    site.install_sketch("acme-fine", "fine", "acme_fine.sketches:Fine")
    (site.folder / "acme_fine").mkdir()
    site.module("acme_fine/__init__", "raise RuntimeError('nothing of a backend is run to list it')")
    site.module("acme_fine/sketches", "class Fine: pass")
    site.install_sketch("acme-nowhere", "nowhere")
    site.install_sketch("acme-no-class", "no-class", "acme_fine.sketches:Nothing")
    site.install("acme-raises", "raise RuntimeError('no luck')")
    site.install("acme-halfway", "from skyband import hookimpl\nimport no_such_module_anywhere")
    site.install("acme-misspelt", MISSPELT)
    site.install_sketch("acme-one", "both")
    site.install_sketch("acme-two", "both")
    site.install_sketch("acme-future", "future", api=99)
    return site


CAUSES = {
    "acme-raises": "could not be imported: RuntimeError: no luck",
    "acme-halfway": "could not be imported: ModuleNotFoundError: No module named 'no_such_module_anywhere'",
    "acme-misspelt": "unknown hook 'skyband_backend'",
}


MISSING = {
    "acme-nowhere": "nowhere:Nothing does not exist: no module named 'nowhere'",
    "acme-no-class": "acme_fine.sketches:Nothing does not exist: 'acme_fine.sketches' defines no Nothing",
}


def test_each_is_shown_with_its_cause_and_harms_nothing_else(ruins):
    ran = ruins.run("backends")
    assert ran.returncode == 0
    for distribution, cause in CAUSES.items():
        line = next(line for line in ran.stderr.splitlines() if distribution in line)
        assert line.startswith(f"broken: {distribution} 1.0: ")
        assert cause in line
    lines = {tuple(line.split()[:3]): line for line in ran.stdout.splitlines()}
    assert lines["sketch/fine", "exact", "acme-fine"].endswith("ok")
    for distribution, why in MISSING.items():
        assert lines[f"sketch/{distribution.removeprefix('acme-')}", "exact", distribution].endswith(why)
    for distribution in ("acme-one", "acme-two"):
        assert "claimed by acme-one and acme-two: choose one" in lines["sketch/both", "exact", distribution]
    assert "written for API 99" in lines["sketch/future", "exact", "acme-future"]
    assert "sketch/pcsa-ml" in ran.stdout
    assert "Traceback" not in ran.stderr + ran.stdout


def test_the_same_as_json(ruins):
    ran = ruins.run("backends", "--json")
    told = json.loads(ran.stdout)
    assert {entry["distribution"] for entry in told["broken"]} == set(CAUSES)
    for entry in told["broken"]:
        assert CAUSES[entry["distribution"]] in entry["problem"]
    problems = {(entry["backend"], entry["distribution"]): entry["problem"] for entry in told["backends"]}
    assert problems["sketch/fine", "acme-fine"] is None
    assert problems["sketch/nowhere", "acme-nowhere"] == MISSING["acme-nowhere"]
    assert "claimed by" in problems["sketch/both", "acme-two"]


def test_the_other_commands_still_work(ruins):
    assert ruins.run("describe", "sketch/pcsa-ml").returncode == 0
    assert ruins.run("--help").returncode == 0


def test_an_unknown_backend_says_which_plugins_did_not_load(ruins):
    ran = ruins.run("describe", "sketch/raises")
    assert ran.returncode == 2
    assert "plugins that did not load: " in ran.stderr
    assert "acme-raises (could not be imported: RuntimeError: no luck)" in ran.stderr


def test_a_claim_can_be_settled_on_the_command_line(ruins):
    ran = ruins.run("describe", "sketch/both")
    assert ran.returncode == 1
    assert 'choose one with distribution = "acme-one"' in ran.stderr
    settled = ruins.run("describe", "sketch/both", "--distribution", "acme-two")
    assert "nowhere:Nothing could not be imported" in settled.stderr


def test_the_environment_restricts_what_loads(ruins):
    ran = ruins.run("backends", SKYBAND_PLUGINS="acme-fine")
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["backend", "sketch/fine"]
    assert ran.stderr == ""


def test_a_role_without_a_backend_that_works_is_an_error(ruins):
    ran = ruins.run("backends", "--role", "window", SKYBAND_PLUGINS="acme-fine")
    assert ran.returncode == 1
    assert "pip install skyband-uncertain" in ran.stderr


COMMANDS = """
    import click
    from skyband import hookimpl

    @hookimpl
    def skyband_commands(group):
        @group.command()
        def hello():
            "Say hello."
            click.echo("hello")

        @group.command()
        def run():
            "Not the run there is."

        @group.command()
        def fails():
            raise RuntimeError("no luck")
"""


def test_a_plugin_adds_commands_but_takes_none(site):
    site.install("acme", COMMANDS)
    assert site.run("hello").stdout == "hello\n"
    helped = site.run("--help")
    assert "Say hello." in helped.stdout
    assert "Not the run there is" not in helped.stdout
    assert helped.stderr.count("acme adds 'run', a name already taken") == 1


def test_a_command_that_raises_has_no_traceback_unless_asked(site):
    site.install("acme", COMMANDS)
    ran = site.run("fails")
    assert ran.returncode == 1
    assert "error: RuntimeError: no luck\n" in ran.stderr
    assert "Traceback" not in ran.stderr
    for call in (("--debug", "fails"), ("fails", "--debug")):
        assert "Traceback" in site.run(*call).stderr


def test_a_plugin_that_cannot_add_its_commands_is_named(site):
    site.install("acme", "from skyband import hookimpl\n@hookimpl\ndef skyband_commands(group): 1 / 0")
    ran = site.run("--help")
    assert ran.returncode == 0
    assert "acme could not add its commands: ZeroDivisionError" in ran.stderr


@pytest.mark.parametrize("call", [["--help"], ["backends"], ["backends", "--json"], ["demo", "--help"]])
def test_looking_around_loads_nothing_heavy(site, call):
    site.module(
        "sitecustomize",
        """
        import atexit, sys
        heavy = ("numba", "pyspark", "pyarrow", "pandas", "scipy", "matplotlib", "altair", "vl_convert")
        atexit.register(lambda: print("loaded:", *(name for name in heavy if name in sys.modules), file=sys.stderr))
    """,
    )
    ran = site.run(*call)
    assert ran.returncode == 0
    assert ran.stderr.splitlines()[-1] == "loaded:"
