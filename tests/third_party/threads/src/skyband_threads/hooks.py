"""What this distribution brings: the engine `threads`."""

from skyband import EngineInfo, hookimpl


@hookimpl
def skyband_engines() -> list[EngineInfo]:
    """One operator a thread."""
    summary = "one operator a thread, in this process; a group's rows all go to one"
    return [EngineInfo("threads", "skyband_threads.engine:ThreadsEngine", summary)]
