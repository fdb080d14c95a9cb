"""What can be held of a page about platforms that are not here: its Dockerfile, its versions, its exit statuses."""

import re
import signal
import tomllib

import pytest
from skyband.cli import signals

from .conftest import ROOT, Document

INSTRUCTIONS = {"FROM", "USER", "RUN", "ENV", "COPY"}


@pytest.fixture
def page(request):
    return Document(ROOT / "core/docs/run/platforms.md", request.config.getoption("--write"))


def test_the_dockerfile_installs_what_there_is_and_keeps_its_kernels_from_others(page):
    (text,) = (block.body for block in page.blocks("dockerfile"))
    lines = [line.split(" ", 1) for line in re.sub(r"\\\n\s*", "", text).splitlines()]
    assert lines[0][0] == "FROM" and {word for word, _ in lines} == INSTRUCTIONS
    (run,) = (rest for word, rest in lines if word == "RUN")
    install, mkdir = (part.strip() for part in run.split("&&")[:2])
    ours = {path.name for path in (ROOT / "plugins").iterdir() if (path / "pyproject.toml").is_file()}
    assert {name.removeprefix("skyband-") for name in install.split()[3:] if name != "skyband"} <= ours
    (folder,) = (rest.removeprefix("NUMBA_CACHE_DIR=") for word, rest in lines if word == "ENV")
    assert mkdir == f"mkdir -m 700 {folder}"
    assert [rest for word, rest in lines if word == "USER"] == ["root", "spark"], "what runs is no root"


def test_its_version_of_spark_is_one_that_is_promised(page):
    needs = tomllib.loads((ROOT / "plugins/spark/pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    (oldest,) = re.findall(r"pyspark\[sql\]>=([\d.]+)", " ".join(needs))
    assert f"Spark {oldest} or later" in page.text
    assert set(re.findall(r"\d+\.\d+\.\d+(?=-python3|\n)", page.text)) == {f"{oldest}.0"}


def test_its_exit_statuses_are_those_of_the_command_line(page):
    ends = [signals.STATUS + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert f"| {', '.join(map(str, ends))} | ended by Ctrl-C, SIGTERM, SIGHUP;" in page.text
