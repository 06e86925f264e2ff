"""`rightseat serve --workers`, as a program, on PostgreSQL and Redis, and on one SQLite file."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import aiohttp
import httpx2
import pytest
from anyio.from_thread import start_blocking_portal

from tests.cli.server_process import WAIT_S, ServerProcess
from tests.conditions import wait_until
from tests.services import REDIS, keys, schema

pytestmark = pytest.mark.whole

LISTENING = "0A"
"""The state of a listening socket in /proc/net/tcp."""

QUESTION = {"messages": [{"role": "user", "content": "Hello"}], "model": "default"}


@pytest.fixture
def on_sqlite(folder: Path) -> dict[str, object]:
    """For what the supervisor does, whatever the database."""
    return {
        "models": {"default": {"type": "scripted", "chunk_delay": 0}},
        "faces": [{"type": "openai"}, {"type": "copilotkit"}, {"type": "metrics"}],
        "server": {"shutdown_timeout": 20},
    }


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.night)])
def configuration(request: pytest.FixtureRequest, on_sqlite: dict[str, object]) -> Iterator[dict[str, object]]:
    if request.param == "sqlite":
        yield on_sqlite
        return
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(schema()) as database,
        portal.wrap_async_context_manager(keys()) as prefix,
    ):
        threads = {"type": "sql", "url": database}
        yield on_sqlite | {"threads": threads, "log": {"type": "redis", "url": REDIS, "prefix": prefix}}


@contextmanager
def serving(configuration: dict[str, object], *options: str) -> Iterator[tuple[ServerProcess, str, list[int]]]:
    """The server, its address, and the processes of its workers."""
    with launching(configuration, *options) as server:
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+", server.wait_for("  serves "))
        pids = re.findall(r"\d+", server.wait_for("  workers ").partition("processes")[2].partition(";")[0])
        yield server, str(url), list(map(int, pids))


@contextmanager
def launching(configuration: dict[str, object], *options: str) -> Iterator[ServerProcess]:
    """A server that starts."""
    Path("rightseat.yaml").write_text(json.dumps(configuration))
    command = [sys.executable, "-m", "rightseat", "serve", "--workers", "2", "--port", "0", *options]
    environ = os.environ | {"TMPDIR": str(Path.cwd())}
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environ,
        process_group=0,
    ) as process:
        server = ServerProcess(process)
        try:
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            server.reader.join(WAIT_S)
    assert process.returncode == 0


def ask(url: str) -> str:
    """Over a connection of its own, which the kernel gives to either worker."""
    response = httpx2.post(f"{url}/v1/chat/completions", json=QUESTION, timeout=WAIT_S)
    return str(response.raise_for_status().json()["choices"][0]["message"]["content"])


def count_runs(url: str) -> float:
    (total,) = re.findall(r"^rightseat_runs_total\{.*\} (\S+)$", httpx2.get(f"{url}/metrics").text, re.MULTILINE)
    return float(total)


def run_in_thread(url: str) -> str:
    """Runs an agent over AG-UI. The name of the new thread."""
    thread = f"thread-{os.urandom(8).hex()}"
    body: dict[str, object] = {
        "threadId": thread,
        "runId": f"run-{thread}",
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    body["messages"] = [{"id": "m1", "role": "user", "content": "Hello"}]
    httpx2.post(f"{url}/copilotkit/agent/default/run", json=body, timeout=WAIT_S).raise_for_status()
    return thread


def test_workers_share_a_port_threads_and_metrics(configuration: dict[str, object], folder: Path) -> None:
    with serving(configuration) as (server, url, pids):
        answers = {ask(url) for _ in range(23)}
        thread = run_in_thread(url)
        wait_until(lambda: count_runs(url) == 24, WAIT_S)  # a run is counted after its response has ended
        counts = [count_runs(url) for _ in range(10)]
        threads = [httpx2.get(f"{url}/copilotkit/threads", params={"agentId": "default"}).text for _ in range(10)]
        files = list(folder.glob("rightseat-metrics-*/counter_*.db"))

    assert len(answers) == 1
    assert counts == [24] * 10
    assert all(thread in text for text in threads)
    counting = {int(file.stem.partition("_")[2]) for file in files}
    assert counting - {server.process.pid} == set(pids)  # the supervisor has read the configuration too
    assert not list(folder.glob("rightseat-metrics-*"))


def test_a_killed_worker_is_replaced_and_no_request_is_refused(configuration: dict[str, object]) -> None:
    with serving(configuration) as (server, url, pids):
        os.kill(pids[0], signal.SIGKILL)
        answers = {ask(url) for _ in range(12)}
        server.wait_for(f"Worker 1 (process {pids[0]}) was ended by SIGKILL. Starting another now.")
        runs = count_runs(url)

    assert len(answers) == 1
    assert runs == 12


def test_a_worker_that_ends_before_it_has_started_is_replaced_while_the_first_one_serves(
    on_sqlite: dict[str, object],
) -> None:
    with launching(on_sqlite) as server:
        first = wait_for_worker(server.process.pid, other_than=())
        second = wait_for_worker(server.process.pid, other_than=(first,))
        os.kill(second, signal.SIGKILL)
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+", server.wait_for("  serves "))
        workers = server.wait_for("  workers ")
        server.wait_for(f"Worker 2 (process {second}) was ended by SIGKILL. Starting another now.")
        answer = ask(url)
        wait_until(lambda: count_listeners(url) == 2, WAIT_S)

    assert f"1 of 2: processes {first};" in workers
    assert answer


@pytest.mark.night  # kills two workers; the gate kills one that serves, and one that starts
def test_no_connection_waits_for_a_worker_that_is_started_again_later(on_sqlite: dict[str, object]) -> None:
    with serving(on_sqlite) as (server, url, pids):
        os.kill(pids[0], signal.SIGKILL)
        server.wait_for("Starting another now.")
        os.kill(wait_for_worker(server.process.pid, other_than=pids), signal.SIGKILL)
        server.wait_for("Starting another in 1 s.")
        wait_until(lambda: count_listeners(url) == 1, WAIT_S)
        answer = ask(url)

    assert answer


def count_listeners(url: str) -> int:
    """The sockets that listen at this port. The kernel distributes connections between them."""
    port = int(url.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == LISTENING for row in rows)


# Each start takes seconds. The gate interrupts the import of the library that is loaded last.
@pytest.mark.parametrize(
    "library", [*(pytest.param(name, marks=pytest.mark.night) for name in ("", "_pydantic_core")), "jsonschema_rs"]
)
def test_ctrl_c_while_the_workers_start_prints_no_traceback(folder: Path, library: str) -> None:
    """The library that the first worker imports at that moment."""
    command = ["env", "--default-signal=INT"]  # a shell that runs tests in the background ignores it
    command += [sys.executable, "-m", "rightseat", "serve", "--workers", "2", "--port", "0"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    ) as process:
        worker = wait_for_worker(process.pid, other_than=())
        wait_until(lambda: library in Path(f"/proc/{worker}/maps").read_text(), WAIT_S)
        os.killpg(process.pid, signal.SIGINT)
        try:
            printed, _ = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()

    assert printed.strip() == "Aborted!"
    assert process.returncode == 1


def wait_for_worker(supervisor: int, other_than: Sequence[int]) -> int:
    """The process of a worker that was just started."""

    def find() -> int | None:
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        started = {int(child) for child in children} - set(other_than)
        return next((pid for pid in started if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()), None)

    return wait_until(find, WAIT_S)


def test_sighup_replaces_the_workers_and_open_streams_end_first(configuration: dict[str, object]) -> None:
    configuration["models"] = {"default": {"type": "scripted", "chunk_delay": 0.1}}
    body = QUESTION | {"stream": True}
    with serving(configuration) as (server, url, _), httpx2.Client(timeout=WAIT_S) as client:
        with client.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
            lines = response.iter_lines()
            next(lines)
            server.process.send_signal(signal.SIGHUP)
            rest = "".join(lines)
        server.wait_for("All workers were replaced.")
        answer = ask(url)

    assert rest.endswith("data: [DONE]")
    assert answer


@pytest.mark.parametrize("send", [os.kill, pytest.param(os.killpg, marks=pytest.mark.night)])  # a terminal sends to all
def test_a_server_that_stops_refuses_connections_while_open_streams_end(
    on_sqlite: dict[str, object], send: Callable[[int, int], None]
) -> None:
    on_sqlite["models"] = {"default": {"type": "scripted", "chunk_delay": 0.3}}
    body = QUESTION | {"stream": True}
    with (
        serving(on_sqlite) as (server, url, _),
        httpx2.Client(timeout=WAIT_S) as client,
        client.stream("POST", f"{url}/v1/chat/completions", json=body) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        began = time.monotonic()
        send(server.process.pid, signal.SIGTERM)
        wait_until_refused(url)
        refused_at = time.monotonic()
        rest = "".join(lines)
        ended_at = time.monotonic()

    assert rest.endswith("data: [DONE]")
    assert refused_at - began < (ended_at - began) / 2


def wait_until_refused(url: str) -> None:
    """Each connection until then gets a response, and none is reset."""
    with suppress(httpx2.ConnectError):
        while True:
            httpx2.get(f"{url}/health", timeout=WAIT_S)


def test_no_connection_waits_for_a_worker_that_is_still_starting(on_sqlite: dict[str, object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with ThreadPoolExecutor() as pool:
        first = pool.submit(find_first_count, url)
        with serving(on_sqlite, "--port", str(port)):
            last = count_listeners(url)

    assert (first.result(), last) == (1, 2)


def find_first_count(url: str) -> int:
    """How many sockets listen as soon as one does."""
    counts: list[int] = []

    def is_open() -> bool:
        counts.append(count_listeners(url))
        return counts[-1] > 0

    wait_until(is_open, WAIT_S)
    return counts[-1]


def test_a_new_configuration_that_does_not_load_keeps_the_old_workers(on_sqlite: dict[str, object]) -> None:
    with serving(on_sqlite) as (server, url, _):
        Path("rightseat.yaml").write_text("modles: {}")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("modles: unknown key.")
        server.wait_for("The new process of worker 1 did not start. The old one continues.")
        answer = ask(url)

    assert answer


def test_a_limit_holds_for_all_workers_together(configuration: dict[str, object]) -> None:
    configuration["limits"] = [{"name": "all", "subject": "everyone", "requests": {"most": 100, "per": "1h"}}]

    async def ask_often(url: str) -> Counter[int]:
        connector = aiohttp.TCPConnector(force_close=True, limit=50)
        timeout = aiohttp.ClientTimeout(WAIT_S)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            return Counter(await asyncio.gather(*(ask_once(session, url) for _ in range(500))))

    with serving(configuration) as (_, url, _):
        statuses = asyncio.run(ask_often(url))

    assert statuses == {200: 100, 429: 400}


async def ask_once(session: aiohttp.ClientSession, url: str) -> int:
    async with session.post(f"{url}/v1/chat/completions", json=QUESTION) as response:
        await response.read()
        return response.status


def test_a_server_that_cannot_start_ends(on_sqlite: dict[str, object]) -> None:
    on_sqlite["threads"] = {"type": "sql", "url": "postgresql://127.0.0.1:1/nothing"}
    Path("rightseat.yaml").write_text(json.dumps(on_sqlite))

    ended = run_serve("--workers", "2", "--port", "0")

    assert ended.returncode == 1
    assert "127.0.0.1:1" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_that_another_server_has_is_refused(on_sqlite: dict[str, object]) -> None:
    Path("rightseat.yaml").write_text(json.dumps(on_sqlite))
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as other:  # as servers with workers open theirs
        ended = run_serve("--workers", "2", "--port", str(other.getsockname()[1]))

    assert ended.returncode == 1
    assert "is already in use. Choose another with --port." in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "2"], "but `threads` and `log` would be in the memory of each process."),
        (["--workers", "2", "--reload"], "Use either --reload or --workers"),
    ],
)
def test_workers_need_shared_state(folder: Path, arguments: list[str], message: str) -> None:
    Path("rightseat.yaml").write_text("{threads: {type: memory}, log: {type: memory}}")

    ended = run_serve(*arguments)

    assert ended.returncode == 1
    assert message in ended.stderr


def run_serve(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rightseat", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
