"""core/docs: what is generated is up to date, what is written by hand is so, and every example runs."""

import io
import re
from contextlib import redirect_stdout
from functools import cache
from itertools import pairwise
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.registry import installed
from skyband_specs.commands.docs import commands_page
from skyband_specs.reference import all_pages
from skyband_specs.reference.author_api import author_page
from skyband_specs.reference.example_jobs import job_example
from skyband_specs.reference.markdown import MARK
from skyband_specs.reference.run_examples import run_job_text

from .conftest import ROOT, Document
from .navigation import BEGIN, END, PARTS, guides_in, navigation

DOCS = ROOT / "core" / "docs"
REFERENCE = DOCS / "reference"
SITE = ROOT / "core" / "zensical.toml"
HAND_WRITTEN = guides_in(DOCS)
BUILT_WITH_THE_SITE = {"authors.md"}
"""Pages that are too long to keep in git."""
HINT = "run `tox -e docs -- --write`"


@pytest.fixture(scope="module")
def pages():
    made = all_pages()
    assert made.problems == ()
    return {**made.texts, "commands.md": commands_page()}


@pytest.fixture
def guide(request):
    return lambda name: Document(DOCS / name, request.config.getoption("--write"))


def kept(folder=DOCS):
    """The pages in a folder that git has."""
    pages = {path for path in folder.rglob("*.md") if path.name not in BUILT_WITH_THE_SITE}
    return sorted(path.relative_to(folder).as_posix() for path in pages)


def test_the_pages_are_those_generated(pages, request):
    assert pages.keys() > BUILT_WITH_THE_SITE
    pages = {name: text for name, text in pages.items() if name not in BUILT_WITH_THE_SITE}
    there = {name: (REFERENCE / name).read_text("utf-8") for name in kept(REFERENCE)}
    generated = {name: text for name, text in there.items() if text.startswith(MARK)}
    if request.config.getoption("--write"):
        for name in generated.keys() - pages.keys():
            (REFERENCE / name).unlink()
        for name, text in pages.items():
            (REFERENCE / name).parent.mkdir(parents=True, exist_ok=True)
            (REFERENCE / name).write_text(text, "utf-8")
        return
    assert sorted(generated) == sorted(pages), HINT
    assert [name for name, text in pages.items() if generated[name] != text] == [], HINT


def test_every_page_has_an_example_that_ran(pages):
    for name, text in pages.items():
        assert "does not run" not in text, name
        assert "not stated" not in text, f"{name}: say its complexity in the docstring"
        if name.startswith("backends/"):
            assert "\nIt prints:\n" in text, name


def test_the_navigation_has_every_page_once(pages, request):
    nav = Document(SITE, request.config.getoption("--write"))
    old = nav.text[nav.text.index(BEGIN) : nav.text.index(END)]
    nav.holds(old, BEGIN + navigation(DOCS, pages))
    named = re.findall(r'= "([\w/-]+\.md)"', nav.text)
    assert sorted(named) == sorted([*kept(), *(f"reference/{name}" for name in BUILT_WITH_THE_SITE)])


def test_no_folder_of_pages_is_too_long_to_read():
    folders = [DOCS, *(path for path in DOCS.rglob("*") if path.is_dir())]
    assert {path.name: len(list(path.iterdir())) for path in folders if len(list(path.iterdir())) > 30} == {}


@pytest.mark.parametrize("entry", installed().listing(), ids=lambda entry: entry.info.key)
def test_the_line_for_a_job_does_what_the_job_does_without(entry, pages):
    """Each backend answers the example of every query of its role, by the line on its page."""
    role, page = entry.info.role, pages[f"backends/{entry.info.key}.md"]
    if f'as `of = "{entry.info.name}"`' in page:  # its query names it; plugins/totals/tests/row_features tries them
        return
    chosen = re.search(rf"```toml\n\[backends\]\n{role} = (.*)\n```", page)[1]
    for kind in re.findall(r"\(\.\./\.\./queries/([\w-]+)\.md\)", page):
        example = job_example(kind)
        answers = run_job_text(example.job, example.files, {role: chosen})
        assert answers.fault is None and len(answers.output.splitlines()) > 1
        if entry.info.guarantee == "exact":
            assert answers == run_job_text(example.job, example.files)


@cache
def text_of(page):
    """The text of a page; None where there is no such page."""
    if page == REFERENCE / "authors.md":
        return author_page()
    return page.read_text("utf-8") if page.is_file() else None


@pytest.mark.parametrize("name", [*kept(), "reference/authors.md"])
def test_links_lead_to_pages_and_headings(name):
    text = re.sub(r"```.*?```", "", text_of(DOCS / name), flags=re.DOTALL)
    for link in re.findall(r"(?<!\\)\]\(([^)]+)\)", text):
        if link.startswith("https://"):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = text_of(((DOCS / name).parent / path).resolve() if path else DOCS / name)
        assert target is not None, f"{name}: {link}"
        headings = re.findall(r"^#+ (.*)", target, re.MULTILINE) if anchor else []
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings], link


@pytest.mark.parametrize("name", HAND_WRITTEN)
def test_tables_taken_from_a_readme_are_its_own(name, guide):
    page = guide(name)
    for file, start in re.findall(r"<!-- the table of ([\w/.]+): (.*?) -->", page.text):
        assert f"-->\n\n{start}" in page.text, f"the table that begins {start!r} must follow its comment"
        page.holds(_table(page.text, f"-->\n\n{start}")[5:], _table((ROOT / file).read_text("utf-8"), f"\n{start}")[1:])


def _table(text, start):
    assert text.count(start) == 1, start
    begin = text.index(start)
    return text[begin : text.index("\n\n", begin + 5)]


@pytest.mark.parametrize("name", HAND_WRITTEN)
def test_commands_scripts_and_folders_it_names_are_there(name, guide):
    text = re.sub(r"```python.*?```", "", guide(name).text, flags=re.DOTALL)
    commands = re.findall(r"(?:^|`)skyband ([a-z]+)", text, re.MULTILINE)
    assert set(commands) <= set(group.list_commands(None))
    for path in re.findall(r"`(?:python )?((?:tests|core|plugins|specs)/[\w/.]+)", text):
        assert (ROOT / path).exists(), path
    for path, name in re.findall(r"`([\w/.]+\.py)::(\w+)`", text):
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{path}::{name}"
    for name, path in re.findall(r"`(check_\w+)` in\s+`([\w/.]+\.py)`", text):
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{path}::{name}"


def test_the_papers_are_those_to_cite_and_the_version_is_ours(guide):
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    titles = re.findall(r'^    title: "?(.*?)"?$', citation, re.MULTILINE)
    table = guide("extend/papers.md").text.partition("| paper |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| \[?(.+?)(?:\]\(.*?\))? \|", table, re.MULTILINE) == titles and len(titles) == 5
    family_names = re.findall(r"given-names: (.+?), family-names: (.+?)}", citation)
    assert [f"{given} {family}" for given, family in family_names if f"{given} {family}" not in table] == []
    version = re.search(r'__version__ = "(.*)"', (ROOT / "core/src/skyband/version.py").read_text("utf-8"))[1]
    assert f"\nversion: {version}\nlicense: Apache-2.0\n" in citation


def prose(text):
    """A page without its code, comments and link targets; code within a line counts as one word."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "CODE", text))


@pytest.mark.parametrize("name", [*HAND_WRITTEN, "../../README.md", "../../CONTRIBUTING.md"])
def test_every_column_of_a_table_has_a_heading(name):
    text = re.sub(r"^```.*?^```", "", (DOCS / name).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^(\|.*\|)\n\|[-|]+\|$", text, re.MULTILINE)
    assert [line for line in headings if not all(cell.strip() for cell in line.strip("|").split("|"))] == []


@pytest.mark.parametrize("name", [*HAND_WRITTEN, "../../README.md", "../../CONTRIBUTING.md"])
def test_no_sentence_is_long(name):
    """A list's item or a part after a colon or a semicolon counts as a sentence; tables of figures are lists."""
    blocks = re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", prose((DOCS / name).read_text("utf-8")))
    sentences = [
        sentence
        for block in blocks
        if not block.startswith("|")
        for sentence in re.split(r"(?<=[.?!:;])\**\s+", " ".join(block.split()))
    ]
    assert [sentence for sentence in sentences if len(re.findall(r"[\w’'-]+", sentence)) > 35] == []


def test_the_failure_in_the_conformance_guide_is_what_its_program_prints(guide):
    page = guide("extend/conformance.md")
    (program,), (shown,) = page.blocks("python"), page.blocks("text")
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(program.body, "conformance.md", "exec"), {"__name__": "late"})
    page.holds(f"```text\n{shown.body}```", f"```text\n{printed.getvalue()}```")


@pytest.mark.parametrize(
    "name",
    [
        "ask/changed.md",
        "ask/deduplicate.md",
        "ask/detections.md",
        "ask/fraud.md",
        "ask/latencies.md",
        "ask/questions.md",
        "ask/reach.md",
        "ask/states.md",
        "ask/stories.md",
        "run/latency.md",
    ],
)
def test_the_programs_of_a_guide_print_what_it_shows(name, guide):
    """Each program together with those before it; what it prints follows it, where it prints."""
    page = guide(name)
    check_programs(page, [block for block in page.blocks("python") if "from sklearn" not in block.body])


@pytest.mark.slow
def test_the_model_of_the_guide_to_fraud_learns_what_it_shows(guide):
    pytest.importorskip("sklearn")
    page = guide("ask/fraud.md")
    assert "from sklearn" in page.text
    check_programs(page, page.blocks("python"))


def check_programs(page, programs):
    """Run programs, one after the other, and compare what each prints with the page."""
    names = {}
    for program in programs:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(program.body, page.path.name, "exec"), names)
        code = f"```python\n{program.body}```\n"
        if printed.getvalue():
            shown = page.text.partition(f"{code}```text\n")[2].partition("```")[0]
            page.holds(f"{code}```text\n{shown}```", f"{code}```text\n{printed.getvalue()}```")
        else:
            assert f"{code}```text" not in page.text


def test_the_pictures_of_answers_are_what_their_programs_draw(guide, tmp_path, monkeypatch, request):
    """Compared by the words in them: where lines run to the last digit may change with the library."""
    pytest.importorskip("vl_convert")
    page, names = guide("ask/plots.md"), {}
    monkeypatch.chdir(tmp_path)
    for program in page.blocks("python"):
        exec(compile(program.body, "plots.md", "exec"), names)
    pictures = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert pictures == sorted(re.findall(r"\]\((.*?\.svg)\)", page.text)) and len(pictures) == 2
    for name in pictures:
        made = (tmp_path / name).read_text("utf-8")
        if request.config.getoption("--write"):
            (page.path.parent / name).write_text(made, "utf-8")
        assert _words(made) == _words((page.path.parent / name).read_text("utf-8")), HINT


def _words(picture):
    return [text for text in ElementTree.fromstring(picture).itertext() if text.strip()]


def test_the_guide_to_writing_shows_code_that_is_fine_and_files_that_are_made(guide, tmp_path):
    page = guide("extend/writing.md")
    for block in page.blocks("python"):
        names = {}
        exec(compile(block.body, "writing.md", "exec"), names)
        if "skyband_backends" in names:
            assert [info.key for info in names["skyband_backends"]()] == ["sketch/newest"]
    command = page.blocks("sh")[0].body.splitlines()[0].split()[1:]
    folder = tmp_path / command[1]
    assert CliRunner().invoke(group, [command[0], str(folder), *command[2:]]).exit_code == 0
    made = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert made == page.blocks("text")[0].body.split()


def test_the_picture_shows_the_2_skyband():
    shapes = list(ElementTree.parse(DOCS / "begin" / "skyband.svg").iter())
    circles = [shape.attrib for shape in shapes if shape.get("class") in ("kept", "gone")]
    numbers = [int(shape.text) for shape in shapes if shape.get("class") in ("kept-number", "gone-number")]
    points = [((float(c["cx"]) - 70) / 52, (300 - float(c["cy"])) / 26, c["class"]) for c in circles]
    assert len(points) == 14
    assert all(left[:2] != right[:2] for left, right in pairwise(sorted(points)))
    for (x, y, kept), number in zip(points, numbers, strict=True):
        dominators = sum(score > y and expiry >= x for expiry, score, _ in points)
        assert (kept, number) == ("kept" if dominators < 2 else "gone", dominators), (x, y)


def test_the_program_of_the_first_page_is_the_readmes(guide):
    page, readme = guide("index.md"), Document(ROOT / "README.md", False)
    page.holds(page.blocks("python")[0].body, readme.blocks("python")[0].body)
    page.holds(page.blocks("text")[0].body, readme.blocks("text")[0].body)


def test_the_index_has_at_most_ten_doors_in_each_of_its_parts(guide):
    parts = dict(part.split("\n", 1) for part in guide("index.md").text.split("\n## ")[1:])
    assert list(parts) == ["Start", *(part.title() for part in PARTS)]
    doors = {name: len(re.findall(r"^\| \[", text, re.MULTILINE)) for name, text in parts.items()}
    assert all(0 < doors[part.title()] <= 10 for part in PARTS), doors
