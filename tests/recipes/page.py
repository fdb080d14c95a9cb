"""The page of sixteen questions: its jobs and programs as they stand there, so that page and tests cannot differ."""

import json
import re
from pathlib import Path

from attrs import frozen
from click.testing import CliRunner
from skyband.cli.commands import group

PAGE = Path(__file__).parents[2] / "core" / "docs" / "ask" / "recipes.md"
ROWS = "The rows they are asked of"
"""The heading of the program that makes the small files."""

_BLOCK = re.compile(r"^```(python|toml|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@frozen
class Recipe:
    """A section of the page: a question, what is run in turn, and what that prints."""

    question: str
    steps: list[tuple[str, str]]
    shown: str

    def run(self, folder: Path, engine: str = "local") -> str:
        """Run all of it in a folder that holds the files it reads; what the last job prints."""
        output = ""
        for language, body in self.steps:
            if language == "python":
                exec(compile(body, "recipes.md", "exec"), {})
            else:
                output = run_job(folder, body, engine=engine)
        return output

    def run_into(self, sink: Path, *sets: str, engine: str = "local") -> None:
        """The same, but the last job writes Parquet files into a folder beside those it reads, with these settings."""
        *before, (_, last) = self.steps
        Recipe(self.question, before, "").run(sink.parent, engine)
        run_job(sink.parent, last, "sink.format=parquet", f"sink.path={json.dumps(sink.name)}", *sets, engine=engine)


def run_job(folder: Path, text: str, *sets: str, engine: str) -> str:
    job = folder / "job.toml"
    job.write_text(text, "utf-8")
    chosen = [part for one in sets for part in ("--set", one)]
    ran = CliRunner().invoke(group, ["run", str(job), "--engine", engine, *chosen])
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout


def recipes() -> dict[str, Recipe]:
    """All questions of the page in order, and the program that makes the rows under ROWS."""
    _, *sections = re.split(r"^## (.*)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    found = {}
    for question, body in zip(sections[::2], sections[1::2], strict=True):
        blocks = _BLOCK.findall(body)
        shown = "".join(text for language, text in blocks if language == "text")
        found[question] = Recipe(question, [block for block in blocks if block[0] != "text"], shown)
    return found
