"""`rightseat serve`, as a process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from rightseat import __version__
from rightseat.installation import install_command
from tests.cli.conftest import Run
from tests.cli.server_process import WAIT_S
from tests.services import free_port

RECORDINGS = Path(__file__).parent.parent / "recordings" / "copilotkit-graphql"
COMMAND = [sys.executable, "-m", "rightseat", "serve"]
SLOW_START = "Starting models, tools and stores …\n"
"""Printed by a start that takes more than two seconds, as on a busy machine."""


@contextmanager
def serving(*arguments: str, **environ: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A server on a free port, and the lines that it says at its start."""
    pipe = subprocess.PIPE
    command = [*COMMAND, "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ | environ) as process:
        try:
            assert process.stdout is not None
            said: list[str] = []
            for line in process.stdout:
                said.append(line.rstrip())
                if line.startswith("  origins"):
                    break
            yield process, said
        finally:
            process.kill()


def end(process: subprocess.Popen[str]) -> str:
    """Stop it as Ctrl-C does. Returns what it wrote to stderr."""
    process.send_signal(signal.SIGINT)
    return read_errors(process)


def read_errors(process: subprocess.Popen[str]) -> str:
    """What it wrote to stderr until its end, without `SLOW_START`."""
    _, errors = process.communicate(timeout=WAIT_S)
    return errors.replace(SLOW_START, "", 1)


def url_in(said: list[str]) -> str:
    (found,) = re.findall(r"http://127\.0\.0\.1:\d+(?=/copilotkit)", "\n".join(said))
    return str(found)


@pytest.mark.parametrize("package", ["minijinja", "jinja2"])
def test_serve_names_the_missing_extra_for_a_local_model(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    (folder / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, package, None)

    result = run("serve", "--model", "model.gguf")

    assert result.exit_code == 1
    assert f"({package}): {install_command('local')}" in result.stderr


def test_serve_without_a_file_and_a_key_prints_that_it_uses_the_built_in_model() -> None:
    with serving() as (process, said):
        answer = httpx2.post(f"{url_in(said)}/copilotkit", json={"query": "{ hello }"})
        errors = end(process)

    assert answer.json() == {"data": {"hello": "Hello World"}}
    assert said[0] == f"rightseat {__version__}"
    assert re.fullmatch(r"  console  http://127\.0\.0\.1:\d+/console/#/\?setup=[2-9A-Z]{4}-[2-9A-Z]{4}", said[1])
    assert re.fullmatch(r"  serves   http://127\.0\.0\.1:\d+/v1  openai", said[3])
    assert said[5:] == [
        "  agent    default  loop, model default",
        "  model    default  no key: built-in demo model, set OPENAI_API_KEY or run `rightseat init`",
        "  threads  sql, in .rightseat/rightseat.db",
        "  origins  pages of this machine: http://localhost:*, http://127.0.0.1:*",
    ]
    assert process.returncode == 0
    assert errors == ""


def test_a_server_that_the_console_has_set_up_starts_again_in_the_same_process_and_at_the_same_port() -> None:
    port = free_port()
    with serving("--port", str(port)) as (process, said):
        code = said[1].partition("setup=")[2]
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}/operator") as client:
            body = {"code": code, "choice": "demo"}
            written = client.post("/setup/write", json=body, headers={"x-rightseat": "1"})
        assert process.stdout is not None
        again = [process.stdout.readline().rstrip() for _ in said]
        errors = end(process)

    assert written.status_code == 202
    assert again[1] == f"  console  http://127.0.0.1:{port}/console/"
    assert "  model    default  built-in demo model, configure a real one in rightseat.yaml" in again
    assert "operator: anyone wrote rightseat.yaml with the setup code" in errors
    assert process.returncode == 0


def test_serve_with_a_key_uses_openai_and_can_log_every_request() -> None:
    with serving("--access-log", OPENAI_API_KEY="sk-canary") as (process, said):
        httpx2.get(f"{url_in(said)}/health")
        errors = end(process)

    assert "  model    default  openai gpt-4o-mini at https://api.openai.com/v1" in said
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO uvicorn\.access: 127\.0\.0\.1:\d+ - "GET /health HTTP/1\.1" 200\n',
        errors,
    )
    assert "sk-canary" not in "".join((*said, errors))


def test_the_file_defines_the_faces_and_the_command_line_the_address() -> None:
    Path("my.yaml").write_text("faces: [{type: copilotkit, path: /pilot}]\nserver: {host: 0.0.0.0, port: 1}\n")

    with serving("-c", "my.yaml", "--host", "127.0.0.1") as (process, said):
        errors = end(process)

    assert re.fullmatch(r"  serves   http://127\.0\.0\.1:\d+/pilot  copilotkit", said[1])
    assert "built-in demo model, configure a real one in my.yaml" in said[3]
    assert errors == ""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("faces: [{type: openai}]\naccess: {keys: [{name: a, key: key-a}]}\n", "--edit needs the face `operator`."),
        ("faces: [{type: operator}]\n", "--edit needs keys"),
    ],
)
def test_edit_is_refused_where_it_has_no_effect(run: Run, text: str, cause: str) -> None:
    Path("rightseat.yaml").write_text(text)

    result = run("serve", "--edit", "--port", "0")

    assert result.exit_code == 1
    assert cause in result.stderr


def test_edit_lets_authors_save() -> None:
    key = "name: ada, key: key-ada, scopes: ['operator.author:*']"
    Path("my.yaml").write_text(f"faces: [{{type: operator}}]\naccess: {{keys: [{{{key}}}]}}\n")

    with serving("-c", "my.yaml", "--edit") as (process, said):
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+(?=/operator)", "\n".join(said))
        me = httpx2.get(f"{url}/operator/me", headers={"authorization": "Bearer key-ada"}).json()
        end(process)

    assert me["edit"] is True


def test_serve_without_keys_refuses_a_public_address(run: Run) -> None:
    result = run("serve", "--host", "0.0.0.0", "--port", "0")

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: 0.0.0.0 can be reached from other machines, and no keys are configured: anyone could use your models. "
        "Create a key with `rightseat keys new NAME`, listen on 127.0.0.1, or set server.allow_unauthenticated: true.\n"
    )


def test_serve_without_keys_refuses_public_host_names_behind_a_proxy(run: Run) -> None:
    Path("rightseat.yaml").write_text("server: {public_url: https://copilot.example.com}\n")

    result = run("serve", "--port", "0")

    assert result.exit_code == 1
    assert result.stderr.startswith(
        "Error: https://copilot.example.com can be reached from other machines, and no keys are configured: "
    )


def test_allow_unauthenticated_prints_a_warning() -> None:
    Path("rightseat.yaml").write_text("server: {allow_unauthenticated: true}\n")

    with serving("--host", "0.0.0.0") as (process, said):
        errors = end(process)

    assert said[-1] == "  origins  none: no web page may call; list those that may under server.origins"
    assert errors.startswith(
        "Warning: 0.0.0.0 IS OPEN TO THE NETWORK, without keys: anyone who reaches it can use your models.\n"
    )


def test_serve_with_keys_answers_only_requests_with_a_key(run: Run) -> None:
    key = run("keys", "new", "alice", "--file", "rightseat.yaml").stdout.splitlines()[0]
    with Path("rightseat.yaml").open("a") as file:
        file.write("faces: [{type: copilotkit}, {type: copilotkit, path: /open, access: open}]\n")

    with serving("--host", "0.0.0.0") as (process, said):
        port = re.findall(r":(\d+)/copilotkit", "\n".join(said))[0]
        url, body = f"http://127.0.0.1:{port}", {"query": "{ hello }"}
        without = httpx2.post(f"{url}/copilotkit", json=body)
        with_it = httpx2.post(f"{url}/copilotkit", json=body, headers={"x-api-key": key})
        elsewhere = httpx2.post(f"{url}/copilotkit", json=body, headers={"x-api-key": key, "host": "evil.com"})
        errors = end(process)

    assert [answer.status_code for answer in (without, with_it, elsewhere)] == [401, 200, 421]
    assert said[1].endswith("/copilotkit  copilotkit, with a key")
    assert said[2].endswith("/open  copilotkit, open to anyone")
    assert "  keys     alice" in said
    assert "Warning: /open is open: anyone who reaches 0.0.0.0 can use its agents.\n" in errors
    assert "List its host names under server.hosts.\n" in errors
    assert re.search(r"INFO rightseat\.audit: copilotkit was used with the key 'alice'\n", errors)
    assert key[12:] not in errors


def test_an_open_response_is_completed_when_the_server_stops() -> None:
    text = "models: {default: {type: scripted, chunk_delay: 60}}\nserver: {shutdown_timeout: 0}\n"
    Path("rightseat.yaml").write_text(text)
    body = (RECORDINGS / "plain-chat.request.txt").read_text().partition("\n\n")[2]
    headers = {"content-type": "application/json", "accept": "multipart/mixed"}

    with serving() as (process, said), httpx2.Client(timeout=WAIT_S) as client:
        with client.stream("POST", f"{url_in(said)}/copilotkit", content=body, headers=headers) as answer:
            pieces = answer.iter_text()
            while '"You"' not in next(pieces):
                pass  # the answer has not begun yet
            process.send_signal(signal.SIGINT)
            rest = "".join(pieces)
        errors = read_errors(process)

    assert rest.rstrip().endswith('"hasNext":false}\r\n-----')
    assert re.fullmatch(r"\S+ \S+ INFO rightseat\.runs: run \S+ cancelled: .+\n", errors)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("level", "lines"),
    [("info", 1), pytest.param("warning", 0, marks=pytest.mark.night)],  # logging's own threshold
)
def test_a_finished_run_writes_one_line_to_the_log(level: str, lines: int) -> None:
    Path("rightseat.yaml").write_text(
        f"models: {{default: {{type: scripted, chunk_delay: 0}}}}\ntelemetry: {{log_level: {level}}}\n"
    )
    body = {"model": "default", "messages": [{"role": "user", "content": "Hi"}], "stream": True}

    with serving() as (process, said):
        httpx2.post(f"{url_in(said)}/v1/chat/completions", json=body).raise_for_status()
        errors = end(process)

    line = (
        r"\S+ \S+ INFO rightseat\.runs: run run_\w+ finished: thread thread_\w+, agent default, face openai, .+ s, .+\n"
    )
    assert re.fullmatch(f"({line}){{{lines}}}", errors)


def test_a_port_in_use_prints_one_line(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--port", str(port))

    assert result.exit_code == 1
    assert result.stderr == (f"Error: Port {port} of 127.0.0.1 is already in use. Choose another with --port.\n")


@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_prints_one_line(run: Run, host: str) -> None:
    Path("rightseat.yaml").write_text("server: {allow_unauthenticated: true}\n")

    result = run("serve", "--host", host, "--port", "0")

    assert result.exit_code == 1
    assert re.fullmatch(rf"Error: Cannot listen on {re.escape(host)}, port 0: [^(]+\.\n", result.stderr)


def test_a_second_server_with_the_same_state_folder_is_refused_in_one_line(run: Run) -> None:
    with serving():
        result = run("serve", "--port", "0")
        asked = run("ask", "Hello")

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: .rightseat/rightseat.db is in use by another rightseat. "
        "Stop that one, or set another folder in `server.state_dir`. "
        "Several processes share threads with `rightseat serve --workers N`, or with PostgreSQL (`threads.url`).\n"
    )
    assert asked.exit_code == 0  # a question in the terminal keeps nothing, and needs no files


def test_the_state_folder_is_beside_the_file_and_private_to_the_user() -> None:
    folder = Path("deep")
    folder.mkdir()
    (folder / "mine.yaml").write_text("server: {state_dir: kept}\n")
    with serving("-c", "deep/mine.yaml") as (process, said):
        end(process)

    assert "  threads  sql, in deep/kept/rightseat.db" in said
    assert (folder / "kept").stat().st_mode & 0o777 == 0o700
    assert not Path("kept").exists()


# A folder that the server makes is tested above
@pytest.mark.parametrize("is_there", [True, pytest.param(False, marks=pytest.mark.night)])
def test_files_of_the_server_are_not_readable_by_other_users(is_there: bool) -> None:
    state = Path("kept")
    if is_there:
        state.mkdir()
        state.chmod(0o755)
    Path("mine.yaml").write_text("server: {state_dir: kept}\nengine: {type: dbos}\nfaces: [{type: openbb}]\n")
    umask = os.umask(0)
    try:
        with serving("-c", "mine.yaml") as (process, _):
            modes = {path.name: path.stat().st_mode & 0o777 for path in state.rglob("*")}
            end(process)
    finally:
        os.umask(umask)

    assert {"rightseat.db", "rightseat.db-wal", "rightseat.db-shm", "rightseat.db.lock", "steps.db"} <= modes.keys()
    assert not {name: oct(mode) for name, mode in modes.items() if mode & 0o077}
    assert state.stat().st_mode & 0o777 == (0o755 if is_there else 0o700)


def test_serve_does_not_start_with_an_invalid_file(run: Run) -> None:
    Path("rightseat.yaml").write_text("sever: {}")

    result = run("serve")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: rightseat.yaml:1:1: sever: unknown key. Did you mean 'server'?")
