"""What ships a service: the job in the manifest is right, and each file names what is there."""

import configparser
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from skyband.__main__ import main
from skyband.cli.commands import INTERRUPTED, group
from skyband_jobs import read_job
from skyband_serve.web.endpoints import PATHS

DEPLOY = Path(__file__).parents[1] / "deploy"


@pytest.fixture(scope="module")
def manifest():
    return {part["kind"]: part for part in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def test_the_job_of_the_manifest_is_right(manifest, tmp_path, monkeypatch):
    monkeypatch.setenv("BOARD_URL", f"sqlite:///{tmp_path}/board.db")
    monkeypatch.setenv("TOKEN", "t" * 32)
    (tmp_path / "job.toml").write_text(manifest["ConfigMap"]["data"]["job.toml"])
    job = read_job(tmp_path / "job.toml", engine="serve")
    assert str(job.own["serve"].address) == "0.0.0.0:8080"
    container = manifest["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert mounts == ["/var/lib/skyband"] and Path(job.sink.checkpoint).is_relative_to(mounts[0])
    assert container["ports"][0]["containerPort"] == job.own["serve"].address.port


def test_its_probe_asks_a_path_without_a_token(manifest):
    spec = manifest["StatefulSet"]["spec"]
    pod = spec["template"]["spec"]
    path = pod["containers"][0]["livenessProbe"]["httpGet"]["path"]
    assert PATHS[path].is_open and spec["replicas"] == 1


def test_the_unit_starts_reloads_and_stops_it():
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / "skyband.service")
    service = unit["Service"]
    program, *arguments = service["ExecStart"].split()
    assert Path(program).name == main.__module__.partition(".")[0] == "skyband"
    assert CliRunner().invoke(group, [arguments[0], "--help"]).exit_code == 0
    assert not set(re.findall("--[a-z]+", service["ExecStart"])) - {"--log"}
    assert "-HUP" in service["ExecReload"] and service["SuccessExitStatus"] == str(INTERRUPTED)


def test_the_container_runs_the_command_as_a_user_without_rights():
    lines = [line.split(maxsplit=1) for line in (DEPLOY / "Containerfile").read_text().splitlines() if line.strip()]
    steps = {name: rest for name, rest in lines if name.isupper()}
    assert steps["USER"] == "skyband" and steps["VOLUME"] == steps["WORKDIR"] == "/var/lib/skyband"
    assert steps["ENTRYPOINT"] == '["skyband", "serve", "--log", "json"]' and "openjdk" not in steps["RUN"]
    helped = CliRunner().invoke(group, ["serve", "--help"])
    assert helped.exit_code == 0 and "--log" in helped.output
