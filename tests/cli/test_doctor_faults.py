"""`rightseat doctor` names fourteen common faults, each with its fix."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rightseat import __version__
from rightseat.installation import install_command
from tests.cli.conftest import Run
from tests.cli.test_serve import serving, url_in
from tests.conftest import Serve
from tests.services import free_port

Json = dict[str, Any]
Doctor = Callable[..., list[Json]]
KEY = "sk-canary-0123456789abcdef"
MODEL = "models: {{default: {{type: openai, model: gpt-4o-mini, api_key: '${{OPENAI_API_KEY}}', base_url: '{url}'}}}}"

WRONG_KEY = {
    "error": {
        "message": f"Incorrect API key provided: {KEY}. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_api_key",
    }
}
NO_QUOTA = {
    "error": {
        "message": "You exceeded your current quota, please check your plan and billing details. For more information "
        "on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }
}


@pytest.fixture
def doctor(run: Run) -> Doctor:
    """The warnings and errors of `rightseat doctor --json`, on a free port unless one is given."""

    def diagnose(text: str = "", *arguments: str, port: int | None = None) -> list[Json]:
        Path("rightseat.yaml").write_text(text)
        result = run("doctor", "--json", "--port", str(port or free_port()), *arguments)
        found: list[Json] = json.loads(result.stdout)
        assert result.exit_code == any(finding["state"] == "error" for finding in found)
        assert KEY not in result.output
        return [finding for finding in found if finding["state"] in ("warning", "error")]

    return diagnose


def provider(response: Response) -> Starlette:
    """A provider that answers every completion like this."""

    async def complete(request: Request) -> Response:
        return response

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


def test_doctor_finds_a_port_in_use(doctor: Doctor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        (finding,) = doctor(port=port)

    assert (finding["id"], finding["subject"], finding["state"]) == ("port", f"127.0.0.1:{port}", "error")
    assert finding["detail"] == f"Port {port} of 127.0.0.1 is in use by a program that is not rightseat."
    assert finding["fix"]["command"] == f"ss -ltnp 'sport = :{port}'"
    assert "`rightseat serve --port " in finding["fix"]["text"]


def test_doctor_finds_a_file_that_is_not_yaml(doctor: Doctor) -> None:
    (finding,) = doctor("models:\n  default: {type: scripted\nagents: {}\n")

    assert (finding["id"], finding["subject"]) == ("configuration", "rightseat.yaml:3:7")
    assert finding["detail"].startswith("this is not YAML: while parsing a flow mapping did not find expected")
    assert (
        finding["fix"]["text"]
        == "Correct line 3 of rightseat.yaml or a line above it. `rightseat check` validates the file."
    )


def test_doctor_finds_an_unknown_configuration_key(doctor: Doctor) -> None:
    (finding,) = doctor("agents: {default: {instruction: Be brief.}}")

    assert (finding["id"], finding["subject"]) == ("configuration", "rightseat.yaml:1:20")
    assert finding["detail"] == "agents.default.instruction: unknown key."
    assert finding["fix"]["text"].startswith("Did you mean 'instructions'?")


def test_doctor_finds_an_unset_variable(doctor: Doctor) -> None:
    (finding,) = doctor(MODEL.format(url="http://127.0.0.1:1/v1"))

    assert finding["id"] == "configuration"
    assert finding["detail"] == "the environment variable OPENAI_API_KEY is not set."
    assert finding["fix"]["text"] == "Set it, or write ${OPENAI_API_KEY:-default}."


async def test_doctor_finds_a_key_that_the_provider_refuses(
    doctor: Doctor, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with serve(provider(JSONResponse(WRONG_KEY, 401))) as url:
        (finding,) = await asyncio.to_thread(doctor, MODEL.format(url=f"{url}/v1"))

    assert (finding["id"], finding["subject"], finding["state"]) == ("model", "models.default", "error")
    assert f"{url}/v1" in finding["detail"]
    assert f"at {url}/v1: The model provider returned HTTP 401: it does not accept the API key" in finding["detail"]
    assert "Incorrect API key provided: [key]." in finding["detail"]
    assert "the environment variable OPENAI_API_KEY, which models.default.api_key reads" in finding["fix"]["text"]


async def test_doctor_finds_an_account_without_credit(
    doctor: Doctor, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with serve(provider(JSONResponse(NO_QUOTA, 429))) as url:
        (finding,) = await asyncio.to_thread(doctor, MODEL.format(url=f"{url}/v1"))

    assert (finding["subject"], finding["state"]) == ("models.default", "error")
    assert "HTTP 429" in finding["detail"]
    assert "HTTP 429 (the quota of the API key is used up): You exceeded your current quota" in finding["detail"]
    assert finding["fix"]["text"].startswith("Add credit or raise the limit in the billing settings of the provider")


def test_doctor_finds_a_model_server_that_does_not_run(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    url = f"http://127.0.0.1:{free_port()}/v1"

    (finding,) = doctor(MODEL.format(url=url))

    assert (finding["subject"], finding["state"]) == ("models.default", "error")
    assert url in finding["detail"]
    assert "onnection refused" in finding["detail"]
    assert finding["fix"]["text"] == "Start the model server, or correct models.default.base_url."


async def test_doctor_finds_a_base_url_without_v1(
    doctor: Doctor, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def missing(request: Request, error: Exception) -> Response:
        return PlainTextResponse("404 page not found", 404)  # as Ollama answers

    async with serve(Starlette(exception_handlers={404: missing})) as url:
        (finding,) = await asyncio.to_thread(doctor, MODEL.format(url=url))

    assert (finding["subject"], finding["state"]) == ("models.default", "error")
    assert finding["detail"] == f"gpt-4o-mini at {url}: The model provider returned HTTP 404: 404 page not found."
    assert finding["fix"]["yaml"] == f"models: {{default: {{base_url: '{url}/v1'}}}}"


def test_doctor_finds_a_read_only_state_folder(doctor: Doctor) -> None:
    Path("taken").write_text("a file, where the folder should be")

    found = doctor("server: {state_dir: taken}")

    finding = next(finding for finding in found if finding["id"] == "state_dir")
    assert finding["detail"] == "The state folder taken cannot be written: taken is not a folder."
    assert finding["fix"]["text"] == "Move the file taken away, or set another folder in `server.state_dir`."


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can become another user")
def test_doctor_finds_a_state_folder_of_another_user(folder: Path) -> None:
    state = folder / "state"
    state.mkdir(mode=0o755)
    code = (
        "import os, sys, json; from pathlib import Path; from rightseat.health.storage import judge_writing; "
        "os.setgroups([]); os.setgid(65534); os.setuid(65534); print(judge_writing(Path(sys.argv[1])).detail)"
    )
    for parent in (folder, *folder.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:  # pytest's folders; never the folder for temporary files itself
            parent.chmod(0o755)

    said = subprocess.run([sys.executable, "-c", code, str(state)], capture_output=True, text=True, check=False)

    assert (said.stderr, said.stdout) == ("", f"The state folder {state} cannot be written: Permission denied.\n")


def test_doctor_finds_a_database_locked_by_another_server(doctor: Doctor) -> None:
    with serving():
        (finding,) = doctor()

    assert (finding["id"], finding["subject"]) == ("database", "threads")
    assert finding["detail"] == "The database .rightseat/rightseat.db is locked by another rightseat."
    assert "Stop that server" in finding["fix"]["text"]
    assert finding["fix"]["command"] == "fuser -v .rightseat/rightseat.db.lock"


@pytest.mark.parametrize("password", ["", f":{KEY}@"], ids=["open", "with a password"])
def test_doctor_finds_an_unreachable_redis(doctor: Doctor, password: str) -> None:
    port = free_port()

    (finding,) = doctor(f"log: {{type: redis, url: 'redis://{password}127.0.0.1:{port}/0'}}")

    assert (finding["id"], finding["subject"]) == ("redis", "log")
    assert finding["detail"] == f"Cannot use Redis at redis://127.0.0.1:{port}/0: connection refused."
    assert finding["fix"]["text"].startswith("Start Redis, or correct `log.url`")
    assert finding["fix"]["command"] == f"redis-cli -u redis://127.0.0.1:{port}/0 ping"


def test_doctor_finds_an_origin_that_is_not_allowed(doctor: Doctor) -> None:
    configured = "server: {origins: ['http://localhost:3000']}\nfaces: [{type: copilotkit}]"

    (finding,) = doctor(configured, "--origin", "http://localhost:5173/chat")

    assert (finding["id"], finding["subject"]) == ("origin", "faces[0]")
    assert finding["detail"] == (
        "copilotkit at /copilotkit: pages of http://localhost:5173 may not call: browsers block the request (CORS)."
    )
    assert finding["fix"]["yaml"] == "server: {origins: [http://localhost:3000, http://localhost:5173]}"


def test_doctor_finds_an_origin_with_a_trailing_slash(doctor: Doctor) -> None:
    (finding,) = doctor("server: {origins: ['http://localhost:5173/']}")

    assert finding["id"] == "configuration"
    assert "without a path or a trailing slash" in finding["detail"]
    assert finding["fix"]["text"] == "Correct line 1 of rightseat.yaml. `rightseat check` validates the file."


def test_doctor_finds_a_missing_extra(folder: Path) -> None:
    (folder / "rightseat.yaml").write_text("toolboxes: {docs: {type: mcp, url: 'http://127.0.0.1:1/mcp'}}")
    code = "import sys; sys.modules['mcp'] = None; from rightseat.cli import main; main()"

    result = subprocess.run([sys.executable, "-c", code, "doctor", "--json"], capture_output=True, text=True)

    assert result.returncode == 1
    finding = next(finding for finding in json.loads(result.stdout) if finding["state"] == "error")
    assert finding["id"] == "configuration"
    assert finding["detail"] == "toolboxes.docs.type: The toolbox 'mcp' needs a package that is not installed."
    assert finding["fix"]["command"] == install_command("mcp")


@pytest.mark.parametrize(
    ("driver", "extra", "text"),
    [
        ("asyncpg", "postgres", "threads: {type: sql, url: 'postgresql://127.0.0.1:9/threads'}"),
        ("redis", "redis", "log: {type: redis, url: 'redis://127.0.0.1:9/0'}"),
    ],
)
def test_doctor_finds_a_missing_driver(folder: Path, driver: str, extra: str, text: str) -> None:
    (folder / "rightseat.yaml").write_text(text)
    code = f"import sys; sys.modules[{driver!r}] = None; from rightseat.cli import main; main()"

    result = subprocess.run([sys.executable, "-c", code, "doctor", "--json"], capture_output=True, text=True)

    assert "Traceback" not in result.stderr
    found = [finding for finding in json.loads(result.stdout) if finding["state"] == "error"]
    commands = [finding["fix"]["command"] for finding in found]
    assert install_command(extra) in commands


def test_doctor_finds_an_mcp_server_that_does_not_start(doctor: Doctor) -> None:
    (finding,) = doctor("toolboxes: {docs: {type: mcp, command: docs-server-that-is-missing, args: [--stdio]}}")

    assert (finding["id"], finding["subject"], finding["state"]) == ("mcp", "toolboxes.docs", "error")
    assert finding["detail"].startswith("The MCP server 'docs-server-that-is-missing' cannot be reached. ")
    assert "No such file or directory" in finding["detail"]
    assert finding["fix"]["command"] == "docs-server-that-is-missing --stdio"


def test_secrets_in_the_arguments_of_a_program_are_not_printed(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCS_KEY", KEY)
    arguments = f"['${{DOCS_KEY}}', --token, {KEY}, --api-key={KEY}, '--url=${{DOCS_KEY}}', /srv/docs]"

    (finding,) = doctor(f"toolboxes: {{docs: {{type: mcp, command: docs-server-that-is-missing, args: {arguments}}}}}")

    assert finding["fix"]["command"] == (
        """docs-server-that-is-missing "${DOCS_KEY}" --token '••••' '--api-key=••••' "--url=${DOCS_KEY}" /srv/docs"""
    )


def test_doctor_finds_no_problem_before_the_first_start(run: Run) -> None:
    result = run("doctor", "--port", str(free_port()))

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1] == f"ok       rightseat: rightseat {__version__}."
    assert lines[-1].startswith("errors 0, warnings 0, ")
    assert not Path(".rightseat").exists()


def test_doctor_runs_the_other_checks_with_a_broken_file(run: Run, folder: Path) -> None:
    Path("rightseat.yaml").write_text("server: {state_dir: elsewhere}\nmodel: {}\n")

    result = run("doctor", "--port", str(free_port()))

    assert result.exit_code == 1
    said = result.stdout
    assert "error    rightseat.yaml:2:1: model: unknown key.\n         fix: Did you mean 'models'?" in said
    assert "ok       elsewhere: The folder elsewhere is made when the server starts" in said
    assert "skipped  rightseat.yaml: Not checked, because the configuration cannot be loaded: models," in said
    assert "ok       python: " in said


def test_doctor_finds_no_problem_with_a_running_server(run: Run) -> None:
    with serving() as (_, said):
        port = url_in(said).rpartition(":")[2]
        result = run("doctor", "--port", port)

    assert result.exit_code == 0
    assert f"rightseat {__version__} is running at http://127.0.0.1:{port}." in result.stdout
    assert f".rightseat/rightseat.db is in use by the server at http://127.0.0.1:{port}." in result.stdout
