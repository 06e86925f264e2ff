"""What a tool's process cannot reach, what it can go on to do, and that it ends with its server."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from rightseat.plugins.sandbox import SandboxLimits
from rightseat.plugins.sandbox.process import find_layers
from tests.conditions import until
from tests.plugins.sandbox.tools import failure, make, run

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(sys.platform != "linux", reason="tools are isolated by means of Linux"),
]

ROOT = Path(__file__).parents[3]
REFUSALS = ("PermissionError", "Operation not permitted", "FileNotFoundError", "not implemented", "Read-only file")

SYSCALL = """
    import ctypes, os, platform
    libc = ctypes.CDLL(None, use_errno=True)

    def call(numbers, *arguments):
        given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
        if libc.syscall(ctypes.c_long(numbers[platform.machine() == "aarch64"]), *given) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""

WITHOUT_UNSHARE = """
from rightseat.plugins.sandbox.worker import seccomp, system
number = {"x86_64": 272, "aarch64": 97}[system.MACHINE]
system.prctl(38, 1)  # no new privileges
refuse = [(seccomp.IF_EQUAL, 0, 1, number), (seccomp.RETURN, 0, 0, seccomp.REFUSE)]
seccomp.load([(seccomp.LOAD, 0, 0, 0), *refuse, (seccomp.RETURN, 0, 0, seccomp.ALLOW)])
"""


# What it cannot reach.


async def test_R_9_2_a_tool_has_no_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        await asyncio.to_thread(lambda: socket.create_connection(address, 2).close())

        failed = await failure(make(tmp_path, f"socket.create_connection({address!r}, 2)", "import socket"))

    assert "PermissionError" in failed.message


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '/dev/log')",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].connect('/dev/log')",
        "os.fork()",
        "subprocess.run(['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "os.kill(os.getppid(), 0)",
        "os.pidfd_open(os.getppid())",
        "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "os.sched_setaffinity(os.getppid(), {0})",
        "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))",
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
        "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
        "open('/etc/passwd').read()",
        "open('/tmp/rightseat-lib-loot', 'w')",
        "open(os.path.join(os.path.dirname(__file__), 'x'), 'w')",
        "open(os.path.join(os.path.dirname(os.__file__), 'x'), 'w')",
        "os.listdir('/tmp')",
        "os.listdir('/')",
        "os.mknod('device')",
        "os.chmod(os.__file__, 0o666)",
        "os.chown(os.__file__, 1, 1)",
        "os.utime(os.__file__, (0, 0))",
        "os.setxattr(os.__file__, 'user.x', b'1')",
        "os.link(os.__file__, 'os.py')",
        "os.setuid(1)",
        "os.chroot('.')",
        "os.memfd_create('x')",
    ],
)
async def test_R_9_2_a_tool_cannot_reach_files_processes_or_devices(tmp_path: Path, attempt: str) -> None:
    failed = await failure(make(tmp_path, attempt, "import fcntl, os, resource, socket, subprocess"))

    assert failed.code == "tool_failed"
    assert any(words in failed.message for words in REFUSALS), failed.message


@pytest.mark.parametrize(
    "attempt",
    [
        "call((234, 131), os.getppid(), os.getppid(), 0)",  # tgkill
        "call((200, 130), os.getppid(), 0)",  # tkill
        "call((129, 138), os.getppid(), 0, bytes(128))",  # rt_sigqueueinfo
        "call((297, 240), os.getppid(), os.getppid(), 0, bytes(128))",  # rt_tgsigqueueinfo
        "call((424, 424), 0, 0, None, 0)",  # pidfd_send_signal
        "call((29, 194), 0, 4096, 0o1600)",  # shmget
        "call((68, 186), 0, 0o1600)",  # msgget
        "call((64, 190), 0, 1, 0o1600)",  # semget
        "call((248, 217), b'user', b'name', b'value', 5, -3)",  # add_key
        "call((250, 219), 0, -3, 1)",  # keyctl
        "call((447, 447), 0)",  # memfd_secret
        "call((425, 425), 1, bytes(120))",  # io_uring_setup
        "call((428, 428), -100, b'/', 0)",  # open_tree
        "call((452, 452), -100, b'.', 0o777, 0)",  # fchmodat2
        "call((157, 167), 1, 0, 0, 0, 0)",  # prctl(PR_SET_PDEATHSIG, 0)
        "call((272, 97), 0x10000000)",  # unshare
        "call((101, 117), 16, os.getppid(), 0, 0)",  # ptrace
        "call((435, 435), bytes(88), 88)",  # clone3
        "call((0x40000000 + 57, 435), 0, 0)",  # fork, by x32's numbers
    ],
)
async def test_system_calls_that_are_not_on_the_list_are_refused(tmp_path: Path, attempt: str) -> None:
    failed = await failure(make(tmp_path, attempt, dedent(SYSCALL)))

    assert any(words in failed.message for words in REFUSALS), failed.message


async def test_R_9_2_a_tool_cannot_raise_its_own_limits(tmp_path: Path) -> None:
    body = "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"

    assert "not allowed to raise maximum limit" in (await failure(make(tmp_path, body, "import resource"))).message


async def test_R_9_2_a_tool_is_never_root(tmp_path: Path) -> None:
    body = "return [os.getresuid(), os.getresgid(), os.getgroups()]"

    output: Any = (await run(make(tmp_path, body, "import os"))).output
    users, groups, more = output

    if os.getuid() == 0:
        assert (users, groups, more) == ([65534] * 3, [65534] * 3, [])
    else:
        assert users == [os.getuid()] * 3


async def test_the_files_of_a_tool_have_a_total_limit_and_are_removed_after_the_call(tmp_path: Path) -> None:
    body = """
        for number in range(16):
            open(f"f{number}", "wb").write(bytes(1_000_000))
    """

    failed = await failure(make(tmp_path, body), limits=SandboxLimits(disk=8_000_000))

    layers = await find_layers()
    assert ("No space left" if layers.own_root else "wrote more than") in failed.message
    assert not await asyncio.to_thread(scratch_folders)


# What it can do.


WORKS = {
    "threads": "from concurrent.futures import ThreadPoolExecutor as P; return sum(P(8).map(lambda n: n, range(9)))",
    "named threads": "import threading; t = threading.Thread(name='x', target=int); t.start(); t.join(); return 36",
    "asyncio": "import asyncio; return sum(await asyncio.gather(*(asyncio.sleep(0.01, n) for n in range(9))))",
    "asyncio in threads": "import asyncio; return await asyncio.to_thread(sum, range(9))",
    "a second loop": "import asyncio, threading as t; r = []; "
    "x = t.Thread(target=lambda: r.append(asyncio.run(asyncio.sleep(0, 36)))); x.start(); x.join(); return r[0]",
    "queues": "import queue, threading; q = queue.Queue(); threading.Timer(0.01, q.put, [36]).start(); return q.get()",
    "files": "import pathlib; p = pathlib.Path('a/b'); p.mkdir(parents=True); (p / 'x').write_text('36'); "
    "(p / 'x').rename('y'); return int(pathlib.Path('y').read_text())",
    "copies": "import shutil; open('x', 'w').write('36'); shutil.copyfile('x', 'y'); return int(open('y').read())",
    "tempfile": "import tempfile; f = tempfile.TemporaryFile(); f.write(b'36'); f.seek(0); return int(f.read())",
    "temporary folders": "import tempfile, os\n"
    "with tempfile.TemporaryDirectory() as d: open(d + '/x', 'w').write('36')\nreturn 36 - len(os.listdir())",
    "named temporary files": "import tempfile\nwith tempfile.NamedTemporaryFile() as f: f.write(b'36')\nreturn 36",
    "touch": "import pathlib; p = pathlib.Path('x'); p.touch(); p.touch(); return 36",
    "zipfile": "import zipfile, io; b = io.BytesIO(); z = zipfile.ZipFile(b, 'w'); z.writestr('x', '36'); "
    "z.extract('x'); return int(open('x').read())",
    "gzip, bz2, lzma": "import gzip, bz2, lzma\n"
    "return int([m.decompress(m.compress(b'36')) for m in (gzip, bz2, lzma)][2])",
    "sqlite3 in memory": "import sqlite3; return sqlite3.connect(':memory:').execute('select 30 + 6').fetchone()[0]",
    "sqlite3 in a file": "import sqlite3; c = sqlite3.connect('x.db'); c.execute('create table t (n)'); "
    "c.execute('insert into t values (36)'); c.commit(); return c.execute('select n from t').fetchone()[0]",
    "zoneinfo": "import zoneinfo, datetime as d; z = zoneinfo.ZoneInfo('Europe/Berlin'); "
    "return 36 * (d.datetime(2026, 1, 1, tzinfo=z).utcoffset() == d.timedelta(hours=1))",
    "local time": "import time, datetime; datetime.datetime.now().astimezone(); time.localtime(); return 36",
    "random and secrets": "import random, secrets, uuid; random.random(); secrets.token_hex(); uuid.uuid4(); return 36",
    "hashlib and hmac": "import hashlib, hmac; hmac.new(b'k', b'm', hashlib.sha256).digest(); "
    "hashlib.scrypt(b'x', salt=b'y', n=2, r=1, p=1); return 36",
    "decimal and fractions": "from decimal import Decimal as D; from fractions import Fraction as F; "
    "return int(D('30.5') + D('5.5')) * int(F(2, 2))",
    "csv, json, configparser": "import csv, io, json, configparser, tomllib; "
    "return json.loads(list(csv.reader(io.StringIO('1,36')))[0][1])",
    "statistics and numbers": "import statistics, math, cmath, itertools; return statistics.mean([30, 42])",
    "re and difflib": "import re, difflib, textwrap, string; return int(re.search(r'\\d+', 'a36b')[0])",
    "urllib.parse": "from urllib.parse import urlsplit; return urlsplit('http://x:36/').port",
    "xml and html": "import html.parser, xml.etree.ElementTree as e; return int(e.fromstring('<a>36</a>').text)",
    "email and mime": "import mimetypes, email.message as e; m = e.EmailMessage(); m['x'] = '36'; return int(m['x'])",
    "logging": "import logging, sys; logging.basicConfig(filename='log'); logging.warning('x'); "
    "print('x', file=sys.stderr); return 36",
    "redirected output": "import contextlib, os\n"
    "with open(os.devnull, 'w') as f, contextlib.redirect_stdout(f): print('x')\nreturn 36",
    "memory maps": "import mmap; m = mmap.mmap(-1, 4096); m.write(b'36'); return int(m[:2])",
    "signals of its own": "import signal; r = []; signal.signal(signal.SIGUSR1, lambda *a: r.append(36)); "
    "signal.raise_signal(signal.SIGUSR1); return r[0]",
    "select": "import os, select; a, b = os.pipe(); os.write(b, b'x'); return 36 * len(select.select([a], [], [])[0])",
    "who it is": "import os, platform, resource; os.cpu_count(); os.uname(); platform.platform(); os.times(); "
    "resource.getrlimit(resource.RLIMIT_AS); return 36",
    "unicodedata": "import unicodedata, locale, calendar; return int(unicodedata.normalize('NFKC', '\uff13\uff16'))",
    "pickle and struct": "import pickle, struct, array, copy, heapq, bisect; return pickle.loads(pickle.dumps(36))",
    "ctypes": "import ctypes; return ctypes.CDLL(None).abs(-36)",
    "contextvars and weakref": "import contextvars, weakref, dataclasses, enum, functools, typing; return 36",
    "ssl and http, imported": "import ssl, http.client, urllib.request, socket, subprocess, multiprocessing; return 36",
    "files of its package": "import importlib.resources as r; return 36 * r.files('lib').joinpath('tool.py').is_file()",
}


@pytest.mark.parametrize("body", WORKS.values(), ids=WORKS.keys())
async def test_a_tool_can_use_the_standard_library(tmp_path: Path, body: str) -> None:
    assert (await run(make(tmp_path, body))).output == 36


# That it ends, and what else is on this machine.


async def test_R_9_2_the_process_of_a_tool_ends_when_the_server_is_killed(tmp_path: Path) -> None:
    server = await asyncio.to_thread(start_server, tmp_path, "import time; time.sleep(60)")
    try:
        tool = await until(lambda: working(server.pid))

        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        await until(lambda: not lives(tool))
    finally:
        server.kill()


async def test_the_sandbox_layers_of_this_machine_are_detected(tmp_path: Path) -> None:
    layers = await find_layers()

    assert layers.problem() is None
    assert layers.uid != 0
    assert {"seccomp", "landlock", "user", "files", "network", "limits", "disk"} == {
        name for name, _ in layers.describe()
    }


def test_a_tool_is_isolated_without_namespaces_too(tmp_path: Path) -> None:
    """As in most containers, which refuse `unshare`."""
    if os.getuid() == 0 and not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("root needs a Python that every user may read")
    body = """
        import os
        try:
            open("/etc/passwd")
        except PermissionError:
            refused = True
        return [os.getuid(), refused, os.listdir(".")]
    """
    fill = "for n in range(400): open(f'f{n}', 'wb').write(bytes(1_000_000))"

    said = [ask_without_namespaces(tmp_path / name, code) for name, code in (("look", body), ("fill", fill))]

    assert said[0] == f"[{os.getuid() or 65534}, True, []]"
    assert "wrote more than 67,108,864 bytes" in said[1]


def ask_without_namespaces(folder: Path, body: str) -> str:
    program = WITHOUT_UNSHARE + ask(folder, body, "/usr/bin/python3" if os.getuid() == 0 else sys.executable)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or done.stderr


def start_server(folder: Path, body: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", ask(folder, body)], cwd=ROOT)


def ask(folder: Path, body: str, executable: str = sys.executable) -> str:
    """A program that calls a tool with that body, and prints what came of it."""
    return dedent(f"""
        import asyncio, sys
        from pathlib import Path
        from rightseat.plugins.results import StepFailed
        from tests.plugins.sandbox.tools import make, run
        sys.executable = {executable!r}
        try:
            print(asyncio.run(run(make(Path({str(folder)!r}), {body!r}))).output)
        except StepFailed as failed:
            print(failed)
    """)


def working(server: int) -> int:
    """The process below the server that is isolated already; 0 where there is none."""
    for path in Path(f"/proc/{server}/task").glob("*/children"):
        for pid in path.read_text().split():
            if "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text():
                return int(pid)
    return 0


def lives(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def scratch_folders() -> list[Path]:
    return [path for path in Path(tempfile.gettempdir()).glob("rightseat-lib-*") if list(path.rglob("f1*"))]
