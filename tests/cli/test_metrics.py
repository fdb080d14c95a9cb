"""`metrics` of a job, on the command line."""

import socket

import pytest

pytest.importorskip("prometheus_client")
from prometheus_client.parser import text_string_to_metric_families


def test_a_run_leaves_its_metrics_in_a_file_next_to_the_job(folder):
    ran = folder.run('metrics="skyband.prom"')
    assert ran.exit_code == 0, ran.stderr
    families = text_string_to_metric_families((folder.home / "skyband.prom").read_text())
    seen = {sample.name: (sample.value, sample.labels) for family in families for sample in family.samples}
    labels = {"job": "job", "kind": "distinct-count"}
    assert seen["skyband_rows_total"] == (60, labels) and seen["skyband_running"] == (0, labels)
    assert seen["skyband_answers_total"] == (len(folder.answers()), labels)


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_port_in_use_is_reported_before_anything_is_written(folder, engine):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = folder.run(f'metrics="127.0.0.1:{taken.getsockname()[1]}"', engine=engine)
    assert ran.exit_code == 1 and not (folder.home / "counts").exists()
    assert "--set: metrics: 127.0.0.1:" in ran.stderr and "choose another port, one for each stream" in ran.stderr
    refused = folder.call("check", folder.job, "--set", 'metrics="0.0.0.0:9464"')
    assert refused.exit_code == 1 and "use 127.0.0.1" in refused.output
