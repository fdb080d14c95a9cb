import os
import signal
import subprocess

import pytest
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
