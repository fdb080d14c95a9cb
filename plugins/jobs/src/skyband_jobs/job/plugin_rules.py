"""Rules that plugins add to the check of every job: what a company allows, what a cluster cannot do."""

from attrs import evolve
from skyband.errors import Problem
from skyband.registry import installed
from skyband.registry.discovery import Plugin, cause

from skyband_jobs.job.model import Job


def rule_problems(job: Job, engine: str) -> list[Problem]:
    """What plugins have against a job with which nothing else is wrong, each problem with whose rule it breaks.

    A rule that fails is a problem too: what it forbids would pass unseen.
    """
    return [problem for plugin in installed().plugins for problem in _of_plugin(plugin, job, engine)]


def _of_plugin(plugin: Plugin, job: Job, engine: str) -> list[Problem]:
    if plugin.manager is None or not plugin.manager.hook.skyband_rules.get_hookimpls():
        return []
    try:
        answers = plugin.manager.hook.skyband_rules(job=job, engine=engine)
        problems = [problem for answer in answers for problem in answer]
        wrong = next((one for one in problems if not isinstance(one, Problem)), None)
        if wrong is not None:
            raise TypeError(f"a rule must give skyband.errors.Problem (got {wrong!r:.80})")
    except (Exception, SystemExit) as error:  # whatever a plugin raises is its own affair, and ours to report
        message = f"the rules of {plugin.distribution} failed: {cause(error)}"
        return [Problem("", f"{message}; upgrade or remove it, or leave it out of SKYBAND_PLUGINS")]
    return [evolve(problem, message=f"{problem.message} (a rule of {plugin.distribution})") for problem in problems]
