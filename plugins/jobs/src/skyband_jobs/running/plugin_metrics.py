"""Passes the metrics of a run to plugins, which forward them to where a company monitors its jobs."""

from typing import Any

from attrs import asdict
from skyband.registry import installed
from skyband.registry.discovery import Plugin
from skyband.registry.module_import import cause

from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.tables.model import Job

_OWN = ("in_rows", "recent_rate", "batch_seconds", "compiling")
"""Fields of Totals that are only for its text."""


def hand_to_plugins(job: Job, progress: Progress) -> None:
    """Let every plugin with `skyband_metrics` listen to the run that `progress` follows.

    A plugin that fails is reported, and not called again in this run.
    """
    for plugin in installed().plugins:
        if plugin.manager is not None and plugin.manager.hook.skyband_metrics.get_hookimpls():
            progress.listeners.append(_Listener(plugin, job, progress))


class _Listener:
    """Calls a plugin's hook until it fails."""

    def __init__(self, plugin: Plugin, job: Job, progress: Progress) -> None:
        self._plugin, self._job, self._progress = plugin, job, progress

    def __call__(self, totals: Totals, ended: bool) -> None:
        assert self._plugin.manager is not None
        try:
            self._plugin.manager.hook.skyband_metrics(job=self._job, metrics=metrics_of(totals, ended))
        except (Exception, SystemExit) as error:  # a failing plugin must not end a run
            self._progress.listeners.remove(self)
            message = f"warning: {self._plugin.distribution} could not take the run's metrics: {cause(error)}"
            self._progress.note(f"{message}; it is not called again in this run")


def metrics_of(totals: Totals, ended: bool) -> dict[str, Any]:
    """The metrics of a run since it started, as plain values."""
    return {name: value for name, value in asdict(totals).items() if name not in _OWN} | {"ended": ended}
