"""Commands that plugins add."""

COMMANDS = """
    import click
    from skyband import hookimpl

    @hookimpl
    def skyband_commands(group):
        @group.command()
        def greet():
            '''Greet the world.'''
            click.echo("hello")
"""


def test_help_says_whose_command_it_is(site):
    site.install("acme-commands", COMMANDS)
    assert "greet     Greet the world. (of acme-commands)" in site.run("--help").stdout
    assert site.run("greet").stdout == "hello\n"
    assert "Greet the world." in site.run("greet", "--help").stdout
