"""Commands from plugins."""

COMMANDS = """
    import click
    from skyband import hookimpl

    @hookimpl
    def skyband_commands(group):
        @group.command()
        def greet():
            '''Greet the world.'''
            click.echo("hello")

        @group.command()
        def fail():
            '''Fail.'''
            raise LookupError("no world")
"""


def test_help_names_the_distribution_of_a_command(site):
    site.install("acme-commands", COMMANDS)
    assert "greet Greet the world. (from acme-commands)" in " ".join(site.run("--help").stdout.split())
    assert site.run("greet").stdout == "hello\n"
    shown = site.run("greet", "--help").stdout
    assert "Greet the world." in shown
    assert shown.endswith("This command comes from acme-commands.\n")


def test_errors_of_a_command_name_its_distribution(site):
    site.install("acme-commands", COMMANDS)
    ran = site.run("fail")
    assert (ran.returncode, ran.stderr) == (
        1,
        "error: LookupError: no world\nThis is a bug in acme-commands; --debug shows where it happened.\n",
    )
