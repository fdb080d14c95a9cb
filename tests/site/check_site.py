"""Builds the site of core/docs, strictly, and opens every page: links, titles, and in a browser where there is one.

python tests/site/check_site.py FOLDER    leaves the site in FOLDER/site, to open without a server or a network
"""

import html
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from skyband_specs.reference.author_api import author_page

CORE = Path(__file__).parents[2] / "core"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (390, 1280)
"""A phone and a desktop."""


def main(folder: Path) -> None:
    """Raise AssertionError or CalledProcessError at the first thing that is not as it should be."""
    site = build(folder)
    pages = {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}
    docs = site.parent / "source" / "docs"
    written = {path.relative_to(docs).with_suffix(".html").as_posix() for path in docs.rglob("*.md")}
    assert pages.keys() == written | {"404.html"}, pages.keys() ^ written
    for name, page in pages.items():
        if name != "404.html":
            page.check(site, name, {site / other: found.anchors for other, found in pages.items()})
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is not None:
        look(browser, site, sorted(written), 'sandbox="allow-same-origin"')
        look(browser, site, ["index.html", "reference/matrix.html"], "")
        search(browser, site, "likelihood", "pcsa-ml")
    seen = f"and looked at with {Path(browser).name}" if browser else "without a browser to look at them"
    print(f"{len(written)} pages are fine, {seen}: {site / 'index.html'}")  # noqa: T201


def build(folder: Path) -> Path:
    """The site, built anew; a link that leads nowhere is an error."""
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(CORE / "docs", source / "docs")
    shutil.copy(CORE / "zensical.toml", source)
    (source / "docs" / "reference" / "authors.md").write_text(author_page(), "utf-8")  # too long to keep in git
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=source, check=True)
    shutil.rmtree(folder / "site", ignore_errors=True)
    (source / "site").rename(folder / "site")
    return folder / "site"


class Page(HTMLParser):
    """What a page says, names and points to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.title, self.body = path, "", ""
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.parts: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or (tag == "link" and given.get("rel") != "canonical"):
            self.parts.append(given.get("src") or given.get("href", ""))
        if tag in ("title", "article"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        if "title" in self._open:
            self.title += data
        if "article" in self._open:
            self.body += data

    def check(self, site: Path, name: str, anchors: dict[Path, set[str]]) -> None:
        """A title and a body; what it is made of lies in the site; its links lead to pages and to places in them."""
        assert self.title.strip() and len(self.body.split()) > 20, f"{name} is empty"
        assert "|---" not in self.body, f"{name} shows raw Markdown"
        for part in self.parts:
            assert part.startswith("data:") or self._target(part)[0].is_file(), f"{name} needs {part}"
        for link in self.links:
            if urlsplit(link).scheme in ("http", "https"):
                continue
            target, anchor = self._target(link)
            assert target.is_file() and target.is_relative_to(site), f"{name} leads to {link}"
            assert not anchor or anchor in anchors[target], f"{name} leads to {link}, which is no place there"

    def _target(self, link: str) -> tuple[Path, str]:
        split = urlsplit(link)
        assert not split.scheme and not split.netloc, f"{self.path.name} needs the network for {link}"
        target = (self.path.parent / unquote(split.path)).resolve() if split.path else self.path
        return target / "index.html" if target.is_dir() else target, unquote(split.fragment)


LOOK = """<!doctype html><meta charset="utf-8"><pre id="found">not yet</pre>
<iframe id="page" %(sandbox)s style="height:900px;border:0"></iframe>
<script>
const pages = %(pages)s, widths = %(widths)s, found = {}, frame = document.getElementById("page");
const soon = () => new Promise(done => setTimeout(done, 50));
async function look() {
  for (const name of pages) {
    frame.style.width = widths[0] + "px";
    await new Promise(done => { frame.onload = done; frame.src = name; });
    await soon();
    const page = frame.contentDocument, heading = page.querySelector("article h1"), wide = [];
    for (const width of widths) {
      frame.style.width = width + "px";
      await soon();
      wide.push(page.documentElement.scrollWidth);
    }
    const pictures = [...page.images].filter(image => !image.naturalWidth).map(image => image.src);
    found[name] = { heading: heading ? heading.innerText : "", wide, pictures };
  }
  document.getElementById("found").textContent = JSON.stringify(found);
}
look();
</script>"""


def look(browser: str, site: Path, pages: list[str], sandbox: str) -> None:
    """Open each page in a browser that can reach nothing: it has its heading and pictures, and fits both screens.

    sandbox: attributes of the frame. All pages are looked at without scripts, which are the theme's, the same for all
        of them, and take longer than the pages; a few with scripts.
    """
    page = LOOK % {"widths": list(WIDTHS), "pages": json.dumps(pages), "sandbox": sandbox}
    found = json.loads(shown(browser, site, page))
    assert found.keys() == set(pages)
    for name, page in found.items():
        assert page["heading"], f"{name} shows no heading"
        for width, wide in zip(WIDTHS, page["wide"], strict=True):
            assert wide <= width, f"{name} is {wide} wide on a screen of {width}"
        assert page["pictures"] == [], f"{name} does not show {page['pictures']}"


SEARCH = """<!doctype html><meta charset="utf-8"><pre id="found">not yet</pre>
<iframe id="page" style="width:1280px;height:900px"></iframe>
<script>
const frame = document.getElementById("page"), soon = act => setTimeout(act, 1000);
frame.onload = () => soon(() => {
  const page = frame.contentDocument, view = frame.contentWindow;
  page.querySelector(".md-search__button").click();
  soon(() => {
    const root = [...page.querySelectorAll("*")].map(part => part.shadowRoot).find(Boolean);
    const field = root.querySelector("input[type=text]");
    Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, "value").set.call(field, "%(word)s");
    field.dispatchEvent(new view.Event("input", { bubbles: true }));
    soon(() => { document.getElementById("found").textContent = JSON.stringify(root.textContent); });
  });
});
frame.src = "index.html";
</script>"""


def search(browser: str, site: Path, word: str, expected: str) -> None:
    """Search works in a folder, too: what is found of a word names what it should."""
    found = json.loads(shown(browser, site, SEARCH % {"word": word}))
    assert expected in found, f"a search for {word} finds {found[:500]!r}"


def shown(browser: str, site: Path, page: str) -> str:
    """What a page of ours, put into the site for a moment, writes into its element `found`."""
    frame = site / "look.html"
    frame.write_text(page, "utf-8")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=60000",
        "--dump-dom",
    ]
    done = subprocess.run(
        [*command, frame.as_uri()],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        timeout=120,
    )
    frame.unlink()
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found and found[1] != "not yet", f"the browser did not come to the end: {done.stdout[:500]}"
    return html.unescape(found[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
