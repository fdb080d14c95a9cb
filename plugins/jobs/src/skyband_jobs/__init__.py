"""Jobs: a source, a query, backends and a sink in one TOML file, which is read, checked and run."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "Job": "job.model",
        "JobEngine": "job.engine",
        "JobError": "job.job_error",
        "Sink": "job.model",
        "Source": "job.model",
        "read_job": "job.parsing",
        "run_job": "running.run",
    },
)
