"""What this distribution brings; imported by discovery, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The sketches."""
    return [
        BackendInfo(
            role="sketch",
            name="pcsa-ml",
            factory="skyband_distinct.pcsa_ml:PcsaMl",
            summary="one time stamp a key in a table of levels and arrays, read by maximum likelihood",
            guarantee="bounded",
            reference="Flajolet and Martin 1985 (PCSA) with the stamps of the sliding-window paper, section 3.3",
        ),
    ]
