import os
import signal
import subprocess

import pytest
from skyband_specs import fork_server
from skyband_specs.fork_server import ForkServer


@pytest.fixture
def server():
    started = ForkServer.start({**os.environ, "MARK": "seen"})
    yield started
    started.stop()


def test_forks_share_a_parent_and_nothing_that_another_did(server):
    ran = [server.run("builtins:eval", f"vars(__import__('math')).setdefault('mark', '{n}')", 60) for n in (1, 2)]
    assert [(child.returncode, child.stdout) for child in ran] == [(0, b"1"), (0, b"2")]
    parents = {server.run("builtins:eval", "str(__import__('os').getppid())", 60).stdout for _ in range(2)}
    assert parents == {b"%d" % server.process.pid}
    assert server.run("builtins:eval", "__import__('os').environ['MARK']", 60).stdout == b"seen"


def test_what_ends_one_fork_leaves_the_server(server):
    raised = server.run("builtins:eval", "1 / 0", 60)
    assert raised.returncode == 1
    assert raised.stderr.endswith(b"ZeroDivisionError: division by zero\n")
    killed = server.run("builtins:eval", "__import__('os').kill(__import__('os').getpid(), 9)", 60)
    assert killed.returncode == -signal.SIGKILL
    assert server.run("builtins:eval", "str(6 * 7)", 60).stdout == b"42"


def test_a_fork_that_hangs_is_ended_with_its_server(server):
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        server.run("builtins:eval", "[print('here', flush=True), __import__('time').sleep(600)]", 5)
    assert raised.value.stdout == b"here\n"
    assert server.process.poll() is not None


def test_the_lasting_fork_continues_after_an_error_but_not_after_a_crash(server):
    def run(code):
        return server.run("builtins:eval", code, 60, lasting=True)

    pid, mark = "str(__import__('os').getpid())", "vars(__import__('math')).setdefault('mark', '{}')"
    first = run(pid).stdout
    assert [run(mark.format(n)).stdout for n in (1, 2)] == [b"1", b"1"]
    failed = run("1 / 0")
    assert failed.returncode == 1
    assert failed.stderr.endswith(b"ZeroDivisionError: division by zero\n")
    assert run(pid).stdout == first
    assert server.run("builtins:eval", pid, 60).stdout not in (first, b"%d" % server.process.pid)
    killed = run("[print('here', flush=True), __import__('os').kill(__import__('os').getpid(), 9)]")
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, b"here\n")
    assert run(pid).stdout not in (first, b"")
    assert run(mark.format(3)).stdout == b"3"


def test_a_failure_caused_by_others_is_reported_only_if_there_is_no_other():
    once = (
        "[vars(__import__('math')).setdefault('seen', []).append(1), 1 / (len(__import__('math').seen) == {})] and 'x'"
    )
    run = [fork_server.run_in_lasting_fork("builtins:eval", once.format(n), {**os.environ}, 60) for n in (1, 1)]
    assert [ended.returncode for ended in run] == [0, 1]
    alone = fork_server.run_in_lasting_fork("builtins:eval", "print('alone') or 1 / 0", {**os.environ}, 60)
    assert (alone.returncode, alone.stdout) == (1, b"alone\n")
