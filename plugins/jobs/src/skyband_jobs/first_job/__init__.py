"""A job to begin with, of files that nobody has described: how they are read, their columns, and what may be asked."""

from skyband_jobs.first_job.job_text import FirstJob, first_job
from skyband_jobs.first_job.raw_files import is_data

__all__ = ["FirstJob", "first_job", "is_data"]
