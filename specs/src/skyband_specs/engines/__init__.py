"""Conformance checks of engines: the reference's answers, however rows are cut and wherever a run stops."""

from skyband_specs.engines.check import EngineCheck
from skyband_specs.engines.checks import CHECKS
from skyband_specs.engines.runner import verify_engine, verify_engine_subject
from skyband_specs.engines.trial import EngineCase, EngineSubject, EngineTrial, InProcessTrial

__all__ = [
    "CHECKS",
    "EngineCase",
    "EngineCheck",
    "EngineSubject",
    "EngineTrial",
    "InProcessTrial",
    "verify_engine",
    "verify_engine_subject",
]
