"""The rows, jobs and programs of the pages of recipes, read from the pages, so that page and tests cannot differ."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve, frozen
from click.testing import CliRunner
from skyband.cli.commands import group

ASK = Path(__file__).parents[2] / "core" / "docs" / "ask"
PAGE, TRADES = ASK / "recipes.md", ASK / "trades.md"
ROWS = "The rows they are asked of"
"""The heading of the program that makes the small files."""

_BLOCK = re.compile(r"^```(python|toml|csv|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@frozen
class Recipe:
    """A section of a page: a question, the rows, programs and jobs in order, and the text that these print."""

    question: str
    steps: list[tuple[str, str]]
    shown: str
    file: str
    """The file that the first job reads; empty without a job."""

    def run(self, folder: Path, engine: str = "local") -> str:
        """Run all of it in a folder that holds the files it reads; returns what the last job prints."""
        return ["", *(printed for _, printed in self.outputs(folder, engine))][-1]

    def outputs(self, folder: Path, engine: str = "local") -> Iterator[tuple[str, str]]:
        """Run all of it; yields the text of each job and what it prints.

        Rows shown as CSV become the file that the first job reads, unless it is there. A job shown by its sink alone is
        the job before it with this sink.
        """
        job = ""
        for language, body in self.steps:
            if language == "python":
                exec(compile(body, "recipes.md", "exec"), {})
            elif language == "csv":
                if not (folder / self.file).exists():
                    (folder / self.file).write_text(body, "utf-8")
            else:
                job = body if "[query]" in body else job.partition("[sink]")[0] + body
                yield body, run_job(folder, job, engine=engine)

    def run_into(self, sink: Path, *sets: str, engine: str = "local") -> None:
        """The same, but the last job writes Parquet files into a folder beside those it reads, with these settings."""
        *before, (_, last) = self.steps
        evolve(self, steps=before).run(sink.parent, engine)
        run_job(sink.parent, last, "sink.format=parquet", f"sink.path={json.dumps(sink.name)}", *sets, engine=engine)


def run_job(folder: Path, text: str, *sets: str, engine: str) -> str:
    job = folder / "job.toml"
    job.write_text(text, "utf-8")
    chosen = [part for one in sets for part in ("--set", one)]
    ran = CliRunner().invoke(group, ["run", str(job), "--engine", engine, *chosen])
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout


def recipes(page: Path = PAGE) -> dict[str, Recipe]:
    """All questions of a page in order, and the program that makes the rows under ROWS."""
    _, *sections = re.split(r"^## (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)
    found = {}
    for question, body in zip(sections[::2], sections[1::2], strict=True):
        blocks = _BLOCK.findall(body)
        shown = "".join(text for language, text in blocks if language == "text")
        jobs = (tomllib.loads(text) for language, text in blocks if language == "toml")
        file = next((job["source"]["path"] for job in jobs), "")
        found[question] = Recipe(question, [block for block in blocks if block[0] != "text"], shown, file)
    return found
