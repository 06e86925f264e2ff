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

from tests.cli.conftest import Run

RECORDINGS = Path(__file__).parent.parent / "recordings" / "copilotkit-graphql"
COMMAND = [sys.executable, "-m", "rightseat", "serve"]


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
    _, errors = process.communicate(timeout=10)
    return errors


def url_in(said: list[str]) -> str:
    (found,) = re.findall(r"http://127\.0\.0\.1:\d+(?=/copilotkit)", "\n".join(said))
    return str(found)


@pytest.mark.parametrize("package", ["minijinja", "jinja2"])
def test_a_local_model_without_the_extra_says_what_to_install(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    (folder / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, package, None)

    result = run("serve", "--model", "model.gguf")

    assert result.exit_code == 1
    assert f"({package}): pip install 'rightseat[local]'" in result.stderr


def test_without_a_file_and_a_key_it_serves_the_built_in_model_and_says_so() -> None:
    with serving() as (process, said):
        answer = httpx2.post(f"{url_in(said)}/copilotkit", json={"query": "{ hello }"})
        errors = end(process)

    assert answer.json() == {"data": {"hello": "Hello World"}}
    assert said[0] == "rightseat 0.1.0"
    assert re.fullmatch(r"  serves   http://127\.0\.0\.1:\d+/v1  openai", said[2])
    assert said[3:] == [
        "  agent    default  loop, model default",
        "  model    default  no key: built-in scripted model, set OPENAI_API_KEY or run `rightseat init`",
        "  threads  sql, in .rightseat/rightseat.db",
        "  origins  pages of this machine: http://localhost:*, http://127.0.0.1:*",
    ]
    assert process.returncode == 0
    assert errors == ""


def test_with_a_key_openai_answers_and_every_request_can_be_logged() -> None:
    with serving("--access-log", OPENAI_API_KEY="sk-canary") as (process, said):
        httpx2.get(f"{url_in(said)}/health")
        errors = end(process)

    assert "  model    default  openai gpt-4o-mini at https://api.openai.com/v1" in said
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO uvicorn\.access: 127\.0\.0\.1:\d+ - "GET /health HTTP/1\.1" 200\n',
        errors,
    )
    assert "sk-canary" not in "".join((*said, errors))


def test_the_file_says_what_is_served_and_the_command_where() -> None:
    Path("my.yaml").write_text("faces: [{type: copilotkit, path: /pilot}]\nserver: {host: 0.0.0.0, port: 1}\n")

    with serving("-c", "my.yaml", "--host", "127.0.0.1") as (process, said):
        errors = end(process)

    assert re.fullmatch(r"  serves   http://127\.0\.0\.1:\d+/pilot  copilotkit", said[1])
    assert "built-in scripted model, name a real one in my.yaml" in said[3]
    assert errors == ""


def test_without_keys_it_is_not_served_to_other_machines(run: Run) -> None:
    result = run("serve", "--host", "0.0.0.0", "--port", "0")

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: 0.0.0.0 can be reached from other machines, and there are no keys: anyone could use your models. "
        "Make a key with `rightseat keys new NAME`, listen on 127.0.0.1, or say server.open_to_the_network: true.\n"
    )


def test_who_insists_on_an_open_server_is_warned() -> None:
    Path("rightseat.yaml").write_text("server: {open_to_the_network: true}\n")

    with serving("--host", "0.0.0.0") as (process, said):
        errors = end(process)

    assert said[-1] == "  origins  none: no web page may call; list those that may under server.origins"
    assert errors.startswith(
        "Warning: 0.0.0.0 IS OPEN TO THE NETWORK, without keys: anyone who reaches it can use your models.\n"
    )


def test_with_a_key_it_is_served_to_who_has_it(run: Run) -> None:
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
    assert "List the names it is called by under server.hosts.\n" in errors
    assert re.search(r"INFO rightseat\.audit: copilotkit was used with the key 'alice'\n", errors)
    assert key[12:] not in errors


def test_an_answer_that_is_open_when_it_stops_is_ended_in_good_order() -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: scripted, pause: 60}}\nserver: {grace: 0}\n")
    body = (RECORDINGS / "plain-chat.request.txt").read_text().partition("\n\n")[2]
    headers = {"content-type": "application/json", "accept": "multipart/mixed"}

    with serving() as (process, said), httpx2.Client(timeout=10) as client:
        with client.stream("POST", f"{url_in(said)}/copilotkit", content=body, headers=headers) as answer:
            pieces = answer.iter_text()
            while '"You"' not in next(pieces):
                pass  # the answer has not begun yet
            process.send_signal(signal.SIGINT)
            rest = "".join(pieces)
        _, errors = process.communicate(timeout=10)

    assert rest.rstrip().endswith('"hasNext":false}\r\n-----')
    assert errors == ""
    assert process.returncode == 0


def test_a_port_in_use_is_one_clear_line(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--port", str(port))

    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: Port {port} of 127.0.0.1 is in use. Stop what uses it, or take another with --port.\n"
    )


@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1"])
def test_an_address_that_is_not_ours_is_one_clear_line(run: Run, host: str) -> None:
    Path("rightseat.yaml").write_text("server: {open_to_the_network: true}\n")

    result = run("serve", "--host", host, "--port", "0")

    assert result.exit_code == 1
    assert re.fullmatch(rf"Error: Cannot listen on {re.escape(host)}, port 0: [^(]+\.\n", result.stderr)


def test_the_files_of_a_server_that_runs_are_refused_to_another_in_one_clear_line(run: Run) -> None:
    with serving():
        result = run("serve", "--port", "0")
        asked = run("ask", "Hello")

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: .rightseat/rightseat.db is in use by another rightseat. "
        "Stop that one, or give this one a folder of its own: server.state.\n"
    )
    assert asked.exit_code == 0  # a question in the terminal keeps nothing, and needs no files


def test_what_is_kept_lies_beside_the_file_for_this_user_alone() -> None:
    folder = Path("deep")
    folder.mkdir()
    (folder / "mine.yaml").write_text("server: {state: kept}\n")
    with serving("-c", "deep/mine.yaml") as (process, said):
        end(process)

    assert "  threads  sql, in deep/kept/rightseat.db" in said
    assert (folder / "kept").stat().st_mode & 0o777 == 0o700
    assert not Path("kept").exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_no_file_of_a_server_can_be_read_by_others(is_there: bool) -> None:
    state = Path("kept")
    if is_there:
        state.mkdir()
        state.chmod(0o755)
    Path("mine.yaml").write_text("server: {state: kept}\nengine: {type: dbos}\nfaces: [{type: openbb}]\n")
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


def test_a_file_that_is_wrong_starts_nothing(run: Run) -> None:
    Path("rightseat.yaml").write_text("sever: {}")

    result = run("serve")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: rightseat.yaml:1:1: sever: unknown key. Did you mean 'server'?")
