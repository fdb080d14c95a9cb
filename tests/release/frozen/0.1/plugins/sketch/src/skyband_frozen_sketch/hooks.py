"""What this distribution brings; imported to list it, so it imports no backend."""

from skyband import BackendInfo, hookimpl


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="sketch",
            name="frozen-sketch",
            factory="skyband_frozen_sketch.sketch:FrozenSketch",
            summary="every key with its latest time",
            guarantee="exact",
            reference="the definition: keys whose latest time is at or after the moment",
            api=1,
        ),
    ]
