"""Jobs: a source, a query, backends and a sink in one TOML file, which is read, checked and run."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "Job": "tables.model",
        "JobEngine": "job.engine",
        "JobError": "job.job_error",
        "Sink": "tables.model",
        "Source": "tables.model",
        "choose_backends": "running.backend_choice",
        "read_job": "programs.parsing",
        "run_job": "programs.run",
    },
)
