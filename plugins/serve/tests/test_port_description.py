"""What else the port tells: its description, the state, metrics; and the dashboard that asks it."""

import json
import re
from importlib.resources import files

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain
from served_board import counts, get, request, served
from skyband.version import __version__
from skyband_jobs.job.progress import Totals
from skyband_serve.web import asking
from skyband_serve.web.endpoints import ENDPOINTS

ABOUT = {
    "watermark": 1_760_000_760_000_000,
    "rows_in": 60,
    "rows_late": 2,
    "groups": 3,
    "state_bytes": 4096,
    "position": '{"requests":{"0":60}}',
    "lag": {"0": 5, "1": 0},
    "savepoint_age": 4.5,
    "seconds": 0.03,
}


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return counts(tmp_path_factory.mktemp("job"))


def test_the_description_lists_exactly_what_is_served(job):
    """Each path and parameter in it is answered, and no other."""
    with served(job[0]) as port:
        port.board.publish(1, job[1], ABOUT)
        described = get(port, "/openapi.json")
        assert described["openapi"].startswith("3.1") and described["info"]["version"] == __version__
        assert [*described["paths"]] == [endpoint.path for endpoint in ENDPOINTS]
        for path, operations in described["paths"].items():
            (get_,) = operations.values()
            assert request(port, path)[0] == 200
            for parameter in get_["parameters"]:
                status, _, body = request(port, path, **{parameter["name"]: "?"})
                assert status in (200, 400) and b"unknown" not in body, parameter
            status, _, body = request(port, path, nonesuch="1")
            assert status == 400 and json.loads(body)["error"].startswith("nonesuch: unknown; ")
            assert {"200", "400"} <= get_["responses"].keys()
        names = [parameter["name"] for parameter in described["paths"]["/ask"]["get"]["parameters"]]
        assert names == [*(option.name for option in asking.options()), "group.g"] and len(names) == len({*names})
        assert {"last", "at", "by", "union", "question", "q", "above", "k", "between"} <= {*names}


def test_the_state_is_that_of_the_newest_turn(job):
    with served(job[0]) as port:
        assert get(port, "/state")["turn"] == 0
        port.board.publish(17, job[1], ABOUT)
        expected = {"job": "counts", "kind": "distinct-count", "version": __version__, "turn": 17, **ABOUT}
        assert get(port, "/state") == {**expected, "watermark": "2025-10-09T09:06:00+00:00"}


@pytest.mark.parametrize("parse", [openmetrics, plain])
def test_the_metrics_are_those_of_a_run_and_of_the_service(parse, job):
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"} if parse is openmetrics else {}
    clock = Clock()
    with served(job[0], clock) as port:
        port.board.publish(16, job[1], ABOUT)
        port.board.publish(17, job[1].slice(0, 0), ABOUT)
        port.progress.micro_batch(Totals(rows_in=60, micro_batches=17, groups=3))
        get(port, "/ask")
        clock.now += 31
        status, headers, body = request(port, "/metrics", headers=accept)
        assert status == 200 and headers["content-type"].startswith(
            "application/openmetrics" if accept else "text/plain"
        )
        samples = [sample for family in parse(body.decode()) for sample in family.samples]
    values = {sample.name: sample.value for sample in samples if "_bucket" not in sample.name}
    assert values["skyband_rows_total"] == 60 and values["skyband_running"] == 1
    assert values["skyband_serve_turn"] == 17 and values["skyband_serve_well"] == 0
    assert values["skyband_serve_savepoint_age_seconds"] == 35.5
    assert (values["skyband_serve_turn_seconds_count"], values["skyband_serve_ask_seconds_count"]) == (2, 1)
    assert values["skyband_serve_turn_seconds_sum"] == pytest.approx(0.06)
    lag = {sample.labels["partition"]: sample.value for sample in samples if sample.name == "skyband_serve_lag_rows"}
    assert lag == {"0": 5, "1": 0}
    assert {(sample.labels["job"], sample.labels["kind"]) for sample in samples} == {("counts", "distinct-count")}


def test_a_job_without_a_port_opens_none(job):
    from skyband_jobs.job.progress import Progress
    from skyband_serve.published import Board
    from skyband_serve.settings import ServeSettings
    from skyband_serve.web.serving import serving

    settings = ServeSettings(http="none")
    with serving(job[0], Board(job[0], settings), settings, Progress()) as address:
        assert address is None


def test_the_dashboard_asks_what_there_is(job):
    """Its panels ask an Infinity source for paths, parameters and columns that the port has."""
    dashboard = json.loads((files("skyband_serve") / "grafana.json").read_text("utf-8"))
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    assert {target["datasource"]["type"] for target in targets} == {"yesoreyeram-infinity-datasource"}
    with served(job[0]) as port:
        port.board.publish(1, job[1], ABOUT)
        for target in targets:
            assert (target["type"], target["source"], target["url_options"]["method"]) == ("json", "url", "GET")
            path, _, query = target["url"].removeprefix("${address}").partition("?")
            query = query.replace("${window:percentencode}", "1%20minute").replace(
                "${__from:date:iso}", "2025-10-09T00:00:00Z"
            )
            assert "${" not in query
            status, _, body = request(port, f"{path}?{query}" if query else path)
            assert status == 200, (target["url"], body)
            rows = json.loads(body)
            rows = rows[target["root_selector"]] if target["root_selector"] else [rows]
            for column in target["columns"]:
                assert column["selector"] in rows[0], (target["url"], column)
    assert {re.sub(r"\?.*", "", target["url"]) for target in targets} >= {"${address}/ask", "${address}/answers"}
