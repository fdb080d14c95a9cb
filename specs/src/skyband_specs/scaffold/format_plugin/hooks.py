"""The format of this distribution; imported to list it, so it imports no format."""

from skyband import FormatInfo, hookimpl


@hookimpl
def skyband_formats() -> list[FormatInfo]:
    """The formats of sources and sinks."""
    return [
        FormatInfo(
            name="mine",
            factory="skyband_specs.scaffold.format_plugin.format:MineFormat",
            summary="a table in one Arrow file",
            can=("reads", "writes", "streams"),
            api=1,
            trial="skyband_specs.scaffold.format_plugin.trial:MineTrial",
        ),
    ]
