"""A first job for files without a description: how to read them, their columns, and what can be asked."""

from skyband_jobs.first_job.job_text import FirstJob, first_job
from skyband_jobs.first_job.raw_files import is_data

__all__ = ["FirstJob", "first_job", "is_data"]
