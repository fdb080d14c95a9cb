"""Metrics of a stream on Spark, requested over HTTP as by Prometheus while it runs."""

import urllib.request

import pytest

pytest.importorskip("prometheus_client")
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from skyband.errors import SkybandError
from skyband_jobs.job.progress import Progress
from skyband_jobs.programs.run import run_job

from .. import faults

pytestmark = pytest.mark.spark
ACCEPT = "application/openmetrics-text; version=1.0.0"


class Scraping(Progress):
    """Asks the endpoint that the run names after each micro-batch, and calls `between` after the first."""

    def __init__(self, between):
        super().__init__()
        self._between, self.url, self.seen, self.type = between, None, [], None

    def note(self, text):
        super().note(text)
        if "http://" in text:
            self.url = text.split()[-1]

    def micro_batch(self, totals, always=False):
        super().micro_batch(totals, always)
        request = urllib.request.Request(self.url, headers={"Accept": ACCEPT})
        with urllib.request.urlopen(request, timeout=10) as answer:
            self.type, families = answer.headers["Content-Type"], text_string_to_metric_families(answer.read().decode())
            self.seen.append({one.name: one.value for family in families for one in family.samples})
        if len(self.seen) == 1:
            self._between(self.url)


def test_a_stream_is_scraped_while_it_runs_and_keeps_its_port_to_itself(session, tmp_path):
    faults.write_source(tmp_path / "source", files=3)
    refused = []

    def another(url):
        """A second stream on its port: reported before it writes anything, and the first continues."""
        port = url.split(":")[-1].split("/")[0]
        with pytest.raises(SkybandError) as error:
            run_job(faults.write_job(tmp_path, "another"), [f'metrics="127.0.0.1:{port}"'])
        refused.append(str(error.value))

    scraping = Scraping(another)
    totals = run_job(faults.write_job(tmp_path, "counts"), ['metrics="127.0.0.1:0"'], progress=scraping)
    assert scraping.type.startswith("application/openmetrics-text")
    assert [seen["skyband_rows_total"] for seen in scraping.seen] == [500, 1000, 1500]
    assert [seen["skyband_micro_batches_total"] for seen in scraping.seen] == [1, 2, 3]
    last = scraping.seen[-1]
    assert last["skyband_running"] == 1
    assert last["skyband_answers_total"] == totals.answers > 0
    assert last["skyband_state_bytes"] == totals.state_bytes > 0
    assert last["skyband_watermark_seconds"] == pytest.approx(totals.watermark / 1e6)
    assert last["skyband_micro_batch_seconds"] > 0
    assert len(refused) == 1 and "cannot be listened on" in refused[0] and "one for each stream" in refused[0]
    assert not (tmp_path / "another").exists() and not (tmp_path / "checkpoint of another").exists()
    with pytest.raises(OSError):
        urllib.request.urlopen(scraping.url, timeout=10)
