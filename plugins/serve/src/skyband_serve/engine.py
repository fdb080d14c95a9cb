"""The engine `serve`: streams in this process that resume from their checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from skyband.engines.reference import LocalEngine
from skyband.errors import Problem
from skyband_jobs.files.source_files import READABLE
from skyband_jobs.formats import names_of_formats
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local.engine import LocalJobs
from skyband_jobs.programs.parsing import read_job
from skyband_jobs.running.savepoint import check_sources, checkpoint_of, make_folder, read
from skyband_jobs.tables.model import Sink, Source, local_path

from skyband_serve.settings import ServeSettings


class ServeEngine(LocalJobs):
    """Runs streams over sources that can be followed. A turn is written down before it is done, so that after a kill
    it is done again with the same rows, and sinks take each once."""

    name: ClassVar[str] = "serve"
    batches: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    own_tables: ClassVar[Mapping[str, type]] = {"serve": ServeSettings}

    def __init__(self) -> None:
        super().__init__(LocalEngine())
        self.name = "serve"  # type: ignore[misc]

    def source_problems(self, source: Source, zone: str | None) -> list[Problem]:
        if not source.stream:
            message = "must be true: skyband serve runs streams; `skyband run --engine local` runs a batch"
            return [Problem("source.stream", message)]
        follows = (*READABLE, *names_of_formats("follows"))
        if source.format not in follows:
            choices = ", ".join(follows)
            return [Problem("source.format", f"can be one of {choices} (got {source.format!r}); or use --engine spark")]
        return super().source_problems(source, zone)

    def sink_problems(self, sink: Sink, stream: bool | None) -> list[Problem]:
        problems = super().sink_problems(sink, stream)
        if stream and sink.checkpoint is None:
            message = "is required: the stream's own folder, from which it resumes"
            problems.append(Problem("sink.checkpoint", message))
        return problems

    def query_problems(self, query: Any, tables: Mapping[str, Any]) -> list[Problem]:
        rules = None if query.broadcast is None else tables.get("query", {}).get(query.broadcast)
        if isinstance(rules, Mapping) and rules.get("stream") is False:
            message = "must be true: a service reads new rows of it while it runs; remove the key"
            return [Problem(f"query.{query.broadcast}.stream", message)]
        return []

    def chosen_before(self, sink: Sink) -> Mapping[str, Any]:
        from skyband_jobs.running.checkpoint_record import chosen_before

        checkpoint = None if sink.checkpoint is None else local_path(sink.checkpoint)
        has_turns = checkpoint is not None and (checkpoint / "turns").is_dir()
        return chosen_before(checkpoint) if checkpoint is not None and has_turns else {}

    def check_belong(self, checkpoint: Path, folder: Path) -> None:
        """The sink's folder names its stream, which is compared when the stream starts."""

    def run(self, job: CheckedJob, progress: Progress, savepoint: Path | None = None) -> Totals:
        from skyband_jobs.running.checkpoint_record import check_goes_on
        from skyband_jobs.running.compilation_notice import announced
        from skyband_jobs.running.stream_lock import in_use

        from skyband_serve.checkpoint import Checkpoint
        from skyband_serve.published import Board
        from skyband_serve.service import Service
        from skyband_serve.signals import listening
        from skyband_serve.web.serving import serving

        settings = job.own.get("serve") or ServeSettings()
        board = Board(job, settings)
        folder = checkpoint_of(job)
        make_folder(folder)
        with in_use(folder), listening() as signals, serving(job, board, settings, progress):
            checkpoint = Checkpoint(folder, durable=settings.durability == "disk")
            check_goes_on(job, folder, self.name, checkpoint.has_turns)
            if savepoint is not None:
                check_sources(job, read(savepoint))
            checkpoint.begin(savepoint)
            service = Service.start(job, checkpoint, progress, settings, board, signals)
            try:
                with announced(progress, service.totals):
                    service.serve()
                    while signals.take_reload():
                        service = service.reloaded(lambda: read_job(job.path, job.sets, self.name))
                        service.serve()
            finally:
                service.close()
                checkpoint.close()
            return service.totals
