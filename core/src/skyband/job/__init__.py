"""Jobs: source, query, backends and sink in one TOML file; read, checked and run."""

from skyband.job.job_error import JobError
from skyband.job.model import Job, Sink, Source
from skyband.job.parsing import read_job

__all__ = ["Job", "JobError", "Sink", "Source", "read_job"]
