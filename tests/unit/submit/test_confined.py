"""The process in which submissions are checked: what it cannot do."""

import os
import subprocess
import sys
import textwrap

import pytest

from bbedge.records.reading import Reading
from bbedge.submit import confined
from bbedge.submit.archive import pack

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the limits are those of POSIX")


def inside(program: str, *, memory: int = 4 << 30, seconds: int = 20) -> subprocess.CompletedProcess[str]:
    """Run a program after the process has given up what a check does not need."""
    begin = (
        f"from bbedge.submit.confined import confine, leave_network\nleave_network()\nconfine({memory}, {seconds})\n"
    )
    code = begin + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "program",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import socket; socket.socket()",
        "import socket; socket.getaddrinfo('example.org', 80)",
        "import os; os.system('true')",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.fork()",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
    ],
)
def test_it_opens_no_connection_and_starts_no_program(program):
    done = inside(program)
    assert done.returncode == 1
    assert "is not allowed while a submission is checked" in done.stderr


@pytest.mark.nightly
def test_it_has_bounded_memory_and_time():
    done = inside("bytearray(8 << 30)")
    assert "MemoryError" in done.stderr
    assert inside("while True: pass", seconds=1).returncode < 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can leave the network")
def test_it_has_no_network_where_the_system_lets_it_leave():
    try:
        allowed = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        pytest.skip("there is no unshare to ask")
    done = inside("print([line.split(':')[0].strip() for line in open('/proc/self/net/dev') if ':' in line])")
    if allowed:
        assert "eth" not in done.stdout
    assert done.returncode == 0


@pytest.mark.every_push("what keeps secrets from foreign files")
def test_no_secret_reaches_it_and_a_crash_is_a_refusal(tmp_path, monkeypatch):
    (tmp_path / "s.csv").write_text("model,item,replicate,score\na,q1,1,1\na,q2,1,0\n", encoding="utf-8")
    pack([str(tmp_path / "s.csv")], tmp_path / "s.zip", Reading(), who="A")
    seen = {}
    true_run = subprocess.run

    def run(command, *, env, **options):
        seen.update(env)
        return true_run(command, env=env, **options)

    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setattr(confined.subprocess, "run", run)
    assert confined.check_confined(tmp_path / "s.zip").accepted
    assert "secret" not in seen.values()
    assert seen["HOME"] != os.environ.get("HOME")
    refused = confined.check_confined(tmp_path / "s.zip", memory=64 << 20)
    assert not refused.accepted
    assert refused.checks[0].text.startswith("checking it ended early")
