"""`rightseat serve --workers`, as a program, on PostgreSQL and Redis."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal

from tests.cli.server_process import WAIT_S, ServerProcess
from tests.services import REDIS, keys, schema

pytestmark = pytest.mark.whole

QUESTION = {"messages": [{"role": "user", "content": "Hello"}], "model": "default"}


@pytest.fixture
def configuration(folder: Path) -> Iterator[dict[str, object]]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(schema()) as database,
        portal.wrap_async_context_manager(keys()) as prefix,
    ):
        yield {
            "models": {"default": {"type": "scripted", "chunk_delay": 0}},
            "threads": {"type": "sql", "url": database},
            "log": {"type": "redis", "url": REDIS, "prefix": prefix},
            "faces": [{"type": "openai"}, {"type": "copilotkit"}, {"type": "metrics"}],
            "server": {"shutdown_timeout": 20},
        }


@contextmanager
def serving(configuration: dict[str, object], *options: str) -> Iterator[tuple[ServerProcess, str, list[int]]]:
    """The server, its address, and the processes of its workers."""
    Path("rightseat.yaml").write_text(json.dumps(configuration))
    command = [sys.executable, "-m", "rightseat", "serve", "--workers", "2", "--port", "0", *options]
    environ = os.environ | {"TMPDIR": str(Path.cwd())}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ
    ) as process:
        server = ServerProcess(process)
        try:
            (url,) = re.findall(r"http://127\.0\.0\.1:\d+", server.wait_for("  serves "))
            pids = re.findall(r"\d+", server.wait_for("  workers ").partition("processes")[2].partition(";")[0])
            yield server, str(url), list(map(int, pids))
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
    with serving(configuration) as (_, url, pids):
        answers = {ask(url) for _ in range(23)}
        thread = run_in_thread(url)
        counts = [count_runs(url) for _ in range(10)]
        threads = [httpx2.get(f"{url}/copilotkit/threads", params={"agentId": "default"}).text for _ in range(10)]
        files = list(folder.glob("rightseat-metrics-*/counter_*.db"))

    assert len(answers) == 1
    assert counts == [24] * 10
    assert all(thread in text for text in threads)
    assert sorted(int(file.stem.partition("_")[2]) for file in files) == sorted(pids)
    assert not list(folder.glob("rightseat-metrics-*"))


def test_a_killed_worker_is_replaced_and_no_request_is_refused(configuration: dict[str, object]) -> None:
    with serving(configuration) as (server, url, pids):
        os.kill(pids[0], signal.SIGKILL)
        answers = {ask(url) for _ in range(12)}
        server.wait_for(f"Worker 1 (process {pids[0]}) was ended by SIGKILL. Starting another now.")
        runs = count_runs(url)

    assert len(answers) == 1
    assert runs == 12


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


def test_a_new_configuration_that_does_not_load_keeps_the_old_workers(configuration: dict[str, object]) -> None:
    with serving(configuration) as (server, url, _):
        Path("rightseat.yaml").write_text("modles: {}")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("modles: unknown key.")
        server.wait_for("The new process of worker 1 did not start. The old one continues.")
        answer = ask(url)

    assert answer


def test_a_server_that_cannot_start_ends(configuration: dict[str, object]) -> None:
    configuration["threads"] = {"type": "sql", "url": "postgresql://127.0.0.1:1/nothing"}
    Path("rightseat.yaml").write_text(json.dumps(configuration))

    ended = run_serve("--workers", "2", "--port", "0")

    assert ended.returncode == 1
    assert "127.0.0.1:1" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_that_another_server_has_is_refused(configuration: dict[str, object]) -> None:
    with serving(configuration) as (_, url, _):
        ended = run_serve("--workers", "2", "--port", url.rpartition(":")[2])

    assert ended.returncode == 1
    assert "is already in use. Choose another with --port." in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "2"], "but `threads` and `log` can be used by one process only."),
        (["--workers", "2", "--reload"], "Use either --reload or --workers"),
    ],
)
def test_workers_need_shared_state(folder: Path, arguments: list[str], message: str) -> None:
    ended = run_serve(*arguments)

    assert ended.returncode == 1
    assert message in ended.stderr


def run_serve(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rightseat", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
