"""skyband compare and bench: tables, JSON, pages that a real browser draws, and the errors."""

import gc
import json
import re
import shutil
import subprocess
import sys
from html import unescape

import pytest
from skyband.registry import installed
from skyband_compare.plots.theme import lacking

drawn = pytest.mark.skipif(lacking() is not None, reason=f"the page {lacking()}")
THREE = "sketch=pcsa-ml,k-skb:epsilon=0.3,exact"


@pytest.fixture(scope="module", autouse=True)
def nothing_frozen():
    """A comparison hides existing objects from the garbage collector, unless that was done before."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


def compare(folder, *arguments, backends=THREE):
    return folder.call("compare", folder.job, "--backends", backends, *arguments)


def change(folder, old, new):
    assert old in folder.job.read_text()
    folder.job.write_text(folder.job.read_text().replace(old, new))


def measured(called):
    assert called.exit_code == 0, called.stderr
    (case,) = json.loads(called.stdout)["cases"]
    return {entry["backend"]: entry for entry in case["backends"]}


def test_a_table_shows_each_backend_next_to_the_exact_one(folder):
    called = compare(folder)
    assert called.exit_code == 0, called.stderr
    title, *tables, meaning = called.stdout.replace(" rows\n", " rows\n\n").split("\n\n")
    assert title == "distinct-count of job, 57 rows"
    heads = " ".join(table.splitlines()[0] for table in tables)
    for column in ("backend", "guarantee", "error", "retained", "bytes", "rows/s", "median", "p99", "first call"):
        assert column in heads
    for table in tables:
        assert [row.split("  ")[0] for row in table.splitlines()[1:]] == ["pcsa-ml", "k-skb epsilon=0.3", "exact"]
    assert tables[-1].endswith("reference")
    assert meaning.startswith("error: relative error of the count, compared with exact\n")
    assert not (folder.home / "counts").exists(), "nothing is written to the job's sink"


def test_json_says_what_was_measured_and_on_what(folder):
    told = json.loads(compare(folder, "--json", "--seconds", 30).stdout)
    assert (told["command"], told["role"]) == ("compare", "sketch")
    (case,) = told["cases"]
    assert (case["rows"], case["moments"], case["latency_of"]) == (57, 12, "moment")
    by_name = {entry["backend"]: entry for entry in case["backends"]}
    exact = by_name["exact"]
    assert exact["reference"] and exact["accuracy"]["error"] == 0 and exact["accuracy"]["rows_equal"] == 1
    assert by_name["k-skb epsilon=0.3"]["parameters"]["epsilon"] == 0.3
    assert by_name["k-skb epsilon=0.3"]["guarantee"] == "bounded"
    for entry in by_name.values():
        assert entry["rows"] == 57 and not entry["stopped"]
        assert 0 < entry["backend_seconds"] < entry["seconds"]
        assert 0 < entry["latency_median_seconds"] <= entry["latency_p99_seconds"]
        assert entry["retained_most"] >= entry["retained_mean"] > 0
        assert entry["bytes_most"] > 0 and entry["snapshot_bytes"] > 0
        assert len(entry["accuracy"]["at"]) == 12
    came = told["provenance"]
    assert came["command"].startswith("skyband compare ") and THREE in came["command"]
    assert "--seconds 30" in came["command"]
    assert "cores" in came["machine"] and sys.version.split()[0] in came["python"]
    assert came["distributions"].keys() == {"skyband-distinct"}


def test_the_job_is_changed_and_cut_as_asked_and_its_parameters_stay(folder):
    folder.job.write_text(
        folder.job.read_text().replace('sketch = "exact"', 'sketch = { name = "k-skb", epsilon = 0.25 }')
    )
    found = measured(
        compare(folder, "--limit", "30", "--set", "query.every=10 minutes", "--json", backends="sketch=k-skb,pcsa-ml")
    )
    assert set(found) == {"k-skb", "pcsa-ml", "exact"}, "an exact one comes in addition"
    assert found["k-skb"]["parameters"]["epsilon"] == 0.25
    assert found["exact"]["rows"] == 29


def test_a_job_that_writes_changes_is_compared_by_its_whole_answers(folder):
    whole = measured(compare(folder, "--json"))
    change(folder, "[query]\n", '[query]\nanswers = "changes"\nchanged = ["count"]\n')
    for name, entry in measured(compare(folder, "--json")).items():
        assert entry["accuracy"] == whole[name]["accuracy"]


def test_answers_are_compared_with_the_named_backend(folder):
    found = measured(compare(folder, "--against", "k-skb:epsilon=0.3", "--json"))
    assert [name for name, entry in found.items() if entry["reference"]] == ["k-skb epsilon=0.3"]


def test_a_job_that_only_spark_could_write_is_compared_all_the_same(folder):
    folder.job.write_text(
        folder.job.read_text().replace(
            'format = "parquet"\npath = "counts"', 'format = "delta"\npath = "s3a://bucket/x"'
        )
    )
    assert compare(folder).exit_code == 0


@pytest.mark.parametrize(
    ("backends", "said"),
    [
        ("sketch=pcsaml,exact", "unknown backend 'pcsaml'; did you mean 'pcsa-ml'?"),
        ("sketsh=pcsa-ml,exact", "unknown role 'sketsh'; did you mean 'sketch'?"),
        ("window=exact,normal", "distinct-count has no role window; it has sketch"),
        ("sketch=exact", "only one backend, exact: name at least two"),
        ("sketch", "must be ROLE=A,B,C"),
        ("sketch=exact,exact", "exact is named twice"),
    ],
)
def test_a_wrong_call_says_what_is_right(folder, backends, said):
    called = compare(folder, backends=backends)
    assert called.exit_code == 2
    assert said in " ".join(called.stderr.split())
    assert called.stdout == ""


def test_a_job_with_nothing_in_it(folder):
    for path in (folder.home / "requests").iterdir():
        path.unlink()
    called = compare(folder)
    assert called.exit_code == 1
    assert "has no data file" in called.stderr
    assert compare(folder, "--html", folder.home / "none" / "x.html").exit_code == 2


FAILING = """
    from attrs import define
    from skyband import BackendInfo, hookimpl
    from skyband_specs.sketch.minimal import MineSketch

    @define(eq=False)
    class Breaks(MineSketch):
        name = "breaks"

        def estimate(self, since):
            raise LookupError("no luck <today>")

    @hookimpl
    def skyband_backends():
        return [BackendInfo("sketch", "breaks", "acme_hooks:Breaks", "a sketch", "exact", "a paper")]
"""


@pytest.fixture
def acme(tmp_path, monkeypatch):
    """A distribution whose sketch fails when it is asked."""
    site = tmp_path / "site"
    info = site / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "acme_hooks.py").write_text(re.sub(r"^    ", "", FAILING, flags=re.MULTILINE))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skyband]\nacme = acme_hooks\n")
    monkeypatch.syspath_prepend(str(site))
    installed.cache_clear()
    yield
    installed.cache_clear()
    sys.modules.pop("acme_hooks", None)


@drawn
def test_a_backend_that_fails_is_one_row_with_its_cause(folder, acme):
    page = folder.home / "page.html"
    called = compare(folder, "--html", page, backends="sketch=pcsa-ml,breaks,exact,k-skb:epsilon=7")
    assert called.exit_code == 1
    rows = {line.split("  ")[0]: line for line in called.stdout.splitlines()}
    assert rows["breaks"].endswith("failed: LookupError: no luck <today>")
    assert "epsilon: must be at least" in rows["k-skb epsilon=7"] and "(got 7" in rows["k-skb epsilon=7"]
    assert "failed" not in rows["pcsa-ml"] + rows["exact"]
    written = page.read_text()
    assert "failed: LookupError: no luck &lt;today&gt;" in written
    assert written.count('<tr class="failed">') == 2


def test_on_a_terminal_the_row_is_red(folder, acme, monkeypatch):
    monkeypatch.setattr("skyband.text_tables.is_terminal", lambda out: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.delenv("NO_COLOR", raising=False)
    called = folder.call("compare", folder.job, "--backends", "sketch=pcsa-ml,breaks,exact", TERM="xterm")
    assert re.search(r"\x1b\[31mbreaks  failed: LookupError: no luck <today>", called.stdout)
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", called.stdout)
    assert all(len(line) <= 90 for line in plain.splitlines())


def test_without_its_reference_a_backend_is_measured_but_not_judged(folder, acme):
    called = compare(folder, "--against", "breaks", "--json", backends="sketch=pcsa-ml,exact")
    assert called.exit_code == 1
    (case,) = json.loads(called.stdout)["cases"]
    by_name = {entry["backend"]: entry for entry in case["backends"]}
    assert by_name["breaks"]["failed"] == "LookupError: no luck <today>"
    assert by_name["exact"]["accuracy"] is None and by_name["exact"]["rows"] == 57


@pytest.mark.parametrize("role", [role for role in installed().roles if role != "row-aggregate"])
def test_every_role_is_benchmarked_on_its_own_streams(folder, role):
    """Of a row-aggregate, a query names several in its keys: they answer different questions."""
    called = folder.call("bench", role, "--rows", 300, "--windows", "20,60", "--json")
    assert called.exit_code == 0, called.stderr
    cases = json.loads(called.stdout)["cases"]
    assert [case["window"] for case in cases] == [20, 60]
    names = {info.info.name for info in installed().listing(role)}
    for case in cases:
        assert {entry["name"] for entry in case["backends"]} == names
        for entry in case["backends"]:
            assert entry["rows"] == 300
            if entry["guarantee"] == "exact":
                assert entry["accuracy"]["rows_equal"] == 1, entry["backend"]


def test_bench_reports_windows_that_no_row_leaves(folder):
    called = folder.call("bench", "sketch", "exact", "--rows", 100, "--windows", "20,160,180", "--json")
    said = "note: windows of 160, 180 never fill up in 100 rows, so nothing expires: choose --rows"
    assert called.stderr.startswith(said)


def test_bench_accepts_names_both_ways(folder):
    rest = ("--rows", 300, "--windows", "20", "--json")
    one = folder.call("bench", "sketch", "pcsa-ml", "exact:distribution=skyband-distinct", *rest)
    two = folder.call("bench", "sketch", "--backends", "pcsa-ml,exact:distribution=skyband-distinct", *rest)
    told = [[entry["name"] for entry in json.loads(called.stdout)["cases"][0]["backends"]] for called in (one, two)]
    assert told[0] == told[1] == ["pcsa-ml", "exact"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sketsh"], "unknown role 'sketsh'; did you mean 'sketch'?"),
        (["sketch", "pcsaml"], "unknown backend 'pcsaml'; did you mean 'pcsa-ml'?"),
        (["sketch", "--windows", "5,ten"], "must be whole numbers from 10 on"),
    ],
)
def test_a_wrong_bench_says_what_is_right(folder, arguments, said):
    called = folder.call("bench", *arguments)
    assert called.exit_code == 2
    assert said in called.stderr


def test_bench_without_the_streams_says_where_they_are(folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("skyband_specs.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "skyband_specs", None)
    called = folder.call("bench", "sketch")
    assert called.exit_code == 1
    assert "pip install skyband-specs" in called.stderr


def test_without_the_extra_only_the_page_is_refused_before_anything_is_measured(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = folder.home / "page.html"
    called = compare(folder, "--html", page)
    assert called.exit_code == 1 and called.stdout == "" and not page.exists()
    assert "--html needs vl_convert: pip install 'skyband[plot]'; the table and --json do not" in called.stderr
    assert compare(folder).exit_code == 0


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on PATH: apt-get install chromium")

LOOK = """<script>addEventListener("load", () => {
  const box = mark => { const at = mark.getBoundingClientRect(); return Math.max(at.width, at.height); };
  const seen = {}, colours = new Set();
  for (const tip of document.querySelectorAll("svg title")) {
    const name = tip.textContent.split("\\n")[0], mark = tip.parentElement, style = getComputedStyle(mark);
    if (box(mark) <= 1 || style.opacity === "0") continue;
    seen[name] = (seen[name] || 0) + 1;
    if (style.fill !== "none" && mark.getAttribute("fill") !== "var(--card)") colours.add(style.fill);
  }
  const style = name => getComputedStyle(document.body)[name];
  const inside = [...document.querySelectorAll("svg")].map(svg => {
    const whole = svg.getBoundingClientRect(), wide = whole.width / 100;
    return [...svg.querySelectorAll("text")].every(text => {
      const at = text.getBoundingClientRect();
      return at.left >= whole.left - wide && at.right <= whole.right + wide;
    });
  });
  const told = {
    seen, inside, wide: [document.documentElement.scrollWidth, innerWidth], ink: style("color"),
    page: style("backgroundColor"), loaded: performance.getEntriesByType("resource").map(entry => entry.name),
    colours: [...colours].length,
    figures: [...document.querySelectorAll("figure")].map(figure => figure.querySelector("h2").textContent),
    tall: document.body.getBoundingClientRect().height, tips: document.querySelectorAll("svg title").length,
    named: [...document.querySelectorAll("svg")].every(svg => svg.getAttribute("aria-label").length > 20),
  };
  const note = document.createElement("pre");
  note.id = "told"; note.textContent = JSON.stringify(told); document.body.append(note);
});</script></body>"""


def looked_at(page, width=1280, dark=False):
    """The page as rendered by a browser, and the messages on its console."""
    written = page.read_text("utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', written)[1]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'", "the page itself forbids all it could load"
    assert "<script" not in written and "://" not in written.replace(str(page.parent), "")
    eyed = page.with_name(f"eyed-{page.name}")
    eyed.write_text(written.replace(policy, f"{policy}; script-src 'unsafe-inline'").replace("</body>", LOOK), "utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--window-size={width},900",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--disable-background-networking",
        f"--user-data-dir={page.parent / 'profile'}",
        "--dump-dom",
        eyed.as_uri(),
    ]
    ran = subprocess.run([CHROMIUM, *options], capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="told">(.*?)</pre>', ran.stdout, re.DOTALL)
    assert found, ran.stderr
    console = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(unescape(found[1])), console


@drawn
@browser
def test_a_browser_draws_every_backend_and_loads_nothing(folder):
    page = folder.home / "page.html"
    assert compare(folder, "--html", page, backends=f"{THREE},hll-panes").exit_code == 0
    assert len(page.read_bytes()) < 100_000
    told, console = looked_at(page)
    assert console == [] and told["loaded"] == []
    names = {"pcsa-ml", "k-skb epsilon=0.3", "exact", "hll-panes"}
    assert told["figures"] == [
        "Throughput",
        "Latency",
        "Error against time",
        "Error over the stream",
        "Retained",
        "Memory",
    ]
    assert told["seen"] == {name: 8 if name == "exact" else 9 for name in names}, "exact has no error to draw"
    assert told["colours"] == 4
    assert all(told["inside"]) and told["named"]
    assert told["tips"] == sum(told["seen"].values()) + 2 * 12, (
        "each mark tells its values, and each moment those of all lines"
    )
    assert told["tall"] > 900
    dark, console = looked_at(page, width=500, dark=True)
    assert console == []
    assert dark["wide"][0] <= dark["wide"][1], "a narrow page need not be scrolled sideways"
    assert dark["seen"] == told["seen"] and all(dark["inside"])
    assert (lightness(told["page"]) > lightness(told["ink"])) and (lightness(dark["page"]) < lightness(dark["ink"]))


@drawn
@browser
def test_a_browser_draws_a_bench_by_window(folder):
    page = folder.home / "page.html"
    called = folder.call("bench", "window", "--rows", 600, "--windows", "20,60", "--html", page)
    assert called.exit_code == 0, called.stderr
    told, console = looked_at(page)
    assert console == [] and told["loaded"] == []
    assert told["figures"] == [
        f"{name} against window"
        for name in ("Throughput", "Throughput alone", "Latency", "Error", "Retained", "Memory")
    ]
    names = {info.info.name for info in installed().listing("window")}
    assert told["seen"].keys() == names and min(told["seen"].values()) >= 5
    assert told["colours"] == len(names)
    assert all(told["inside"])


def lightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3]))
