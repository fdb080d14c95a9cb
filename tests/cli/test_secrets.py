"""No secret of a job is shown or written, in errors, progress, summaries, pages, JSON, states or savepoints."""

import pytest
from skyband.config import redaction
from skyband.config.redaction import HIDDEN, is_secret, learn, redact, redacted_line
from skyband.engines.local import LocalRun
from skyband.errors import ConfigError, EngineError, InputError, Problem, SkybandError
from skyband_jobs import JobError, read_job
from skyband_jobs.job.job_error import secrets_hidden
from skyband_jobs.programs.run import run_job

PLANTED = "hunter2/ü'x"
URL = "s3a://reader:hunter2-url@bucket/answers"
SECRETS = ("hunter2", "2-url")


@pytest.fixture(autouse=True)
def nothing_learnt(monkeypatch):
    monkeypatch.setattr(redaction, "_hidden_texts", set())


def none_of(text):
    return not any(secret in text for secret in SECRETS)


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "kafka.sasl.jaas.config",
        "s3.secret-access-key",
        "s3.access-key-id",
        "token",
        "sessionToken",
        "fs.azure.account.key.lake",
        "apiKey",
        "user_pwd",
        "kafka.ssl.truststore.password",
        "credential",
    ],
)
def test_keys_that_say_that_they_are_secret(key):
    assert is_secret(key)


@pytest.mark.parametrize("key", ["tokens", "tokenizer", "key", "user", "path", "kafka.key.deserializer", "primaryKeys"])
def test_keys_that_are_nobodys_secret(key):
    assert not is_secret(key)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{URL}: not found", f"s3a://reader:{HIDDEN}@bucket/answers: not found"),
        (
            "jdbc:postgresql://db/x?user=a&password=hunter2&ssl=true",
            f"jdbc:postgresql://db/x?user=a&password={HIDDEN}&ssl=true",
        ),
        ('{ user = "a", password = "hunter2, 3" }', f'{{ user = "a", password = "{HIDDEN}" }}'),
        ("{'token': 'hunter2', 'a': 1}", f"{{'token': '{HIDDEN}', 'a': 1}}"),
        ("abfss://container@account.dfs.core.windows.net/a", "abfss://container@account.dfs.core.windows.net/a"),
        ("token: must be text", "token: must be text"),
    ],
)
def test_text_that_contains_a_secret(text, shown):
    assert redact(text) == shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    ("line", "above", "shown"),
    [
        ("password = hunter2", "", f"password = {HIDDEN}"),
        ('options = { "password" = "hunter2 }', "", f'options = {{ "password" = "{HIDDEN}"'),
        ("hunter2,", "password ", HIDDEN),
        ("value = hunter2", "[sink.options.credentials]", f"value = {HIDDEN}"),
        ("windows = 10 minutes", "[query]", "windows = 10 minutes"),
    ],
)
def test_a_line_that_is_no_toml(line, above, shown):
    assert redacted_line(line, above) == shown


def test_a_secret_that_was_learnt_is_hidden_however_it_is_written():
    learn({"sink": {"options": {"password": PLANTED, "pin_password": 71839201, "x.token": ["abc", {"y": "z" * 300}]}}})
    written = [PLANTED, repr(PLANTED), "z" * 120 + "…", "71839201", "'abc'"]
    assert [redact(text) for text in written[2:]] == [HIDDEN, HIDDEN, f"'{HIDDEN}'"]
    assert all(none_of(redact(text)) for text in written)


WRONG = [
    'source.options.password=["hunter2"]',
    "sink.options='user=a;password=hunter2'",
    "sink.mode='password=hunter2'",
    "sink.options.password.x=['hunter2']",
    "spark=['token=hunter2']",
    "sink.catalog.token=['hunter2']",
    f"sink.path={URL}",
    f"source.path={URL}",
    f"sink.checkpoint={URL}",
    "source.options.url=jdbc:a://b:hunter2@c/d",
    "source.options.password:hunter2",
    "sink.password='hunter2'",
]


@pytest.mark.parametrize("change", WRONG)
def test_errors_hold_no_secret(folder, change):
    for engine in ("local", "spark"):
        changes = ["--set", change, "--set", "query.every=0"]
        ran = folder.call("check", folder.job, "--engine", engine, *changes)
        assert ran.exit_code
        assert none_of(ran.output)
        with pytest.raises(JobError) as caught:
            read_job(folder.job, changes[1::2], engine)
        assert none_of(str(caught.value))


@pytest.mark.parametrize(
    "line", ["password = hunter2", 'password = "hunter2', 'a = { password = "hunter2", b }', "password = [\nhunter2\n]"]
)
def test_a_file_that_is_no_toml_is_told_without_its_secrets(folder, line):
    folder.job.write_text(folder.job.read_text() + f"\n[sink.options]\n{line}\n")
    ran = folder.call("check", folder.job)
    assert "line 2" in ran.output
    assert none_of(ran.output)


def test_runs_summaries_and_what_they_write_hold_no_secret(folder):
    changes = ["sink.options={ password = 'hunter2' }", "source.options.password=hunter2", "spark.a.password=hunter2"]
    ran = folder.run(*changes)
    assert ran.exit_code == 0, ran.output
    assert none_of(ran.output)
    for path in folder.home.rglob("*"):
        assert path.is_dir() or path == folder.job or b"hunter2" not in path.read_bytes(), path


def test_pages_and_json_of_a_comparison_hold_no_secret(folder):
    typed = [
        "--set",
        "source.options.password=hunter2",
        "--set",
        "sink.options={ token = 'hunter2', url = 'a://b:hunter2@c' }",
    ]
    page = folder.home / "page.html"
    ran = folder.call(
        "compare", folder.job, "--backends", "sketch=exact,k-skb", "--seconds", "5", "--json", "--html", page, *typed
    )
    assert ran.exit_code == 0, ran.output
    assert f"source.options.password={HIDDEN}" in ran.output
    assert f"source.options.password={HIDDEN}" in page.read_text()
    assert none_of(ran.output + page.read_text())


def test_errors_that_a_program_catches_hold_no_secret_nor_do_their_causes(folder):
    inner = InputError("source", f"{URL} cannot be read", 7)
    outer = EngineError(f"nothing comes from {URL}, for password=hunter2")

    @secrets_hidden()
    def fail(error):
        raise error from inner

    for error in (outer, ConfigError(Problem("source.path", f"is {URL}"))):
        with pytest.raises(SkybandError) as caught:
            fail(error)
        cause = caught.value.__cause__
        assert none_of(f"{caught.value} {cause} {cause.message} {getattr(caught.value, 'problems', '')}")
        assert (cause.argument, cause.row) == ("source", 7)
    (folder.home / "counts").write_text("no folder")
    with pytest.raises(SkybandError) as caught:
        run_job(folder.job, ["sink.path=counts", f"source.path={URL}"], "local")
    assert none_of(str(caught.value))


def test_states_hold_no_secret(folder):
    job = read_job(folder.job, ["spark.a.password=hunter2", "source.options.password=hunter2"], "local")
    run = LocalRun.start(job.query, job.schema, job.backends)
    assert b"hunter2" not in run.operator.snapshot()
