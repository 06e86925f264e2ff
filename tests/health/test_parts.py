"""What the checks of storage, services, toolboxes, agents, faces, origins and the clock find."""

import hashlib
import shutil
import sys
from email.utils import formatdate
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rightseat import __version__, app, config
from rightseat.health.address import find_running_server
from rightseat.health.clock import judge_skew
from rightseat.health.origins import normalize_origin
from rightseat.health.versions import judge_python
from tests.access.openid_provider import FakeProvider
from tests.conftest import Serve
from tests.health.conftest import Diagnose
from tests.models.recorded import once
from tests.services import POSTGRES, REDIS, free_port, keys, schema
from tests.tcp import playing

PLUGINS = Path(__file__).parent.parent.parent / "examples/plugins"


def test_an_old_python_is_an_error() -> None:
    assert judge_python((3, 10, 13)).detail == "Python 3.10.13 is older than 3.11."
    assert judge_python((3, 13, 0)).status == "ok"


async def test_a_server_that_runs_is_recognised(diagnose: Diagnose, serve: Serve, tmp_path: Path) -> None:
    async with serve(app.build(config.parse(config.IN_MEMORY, environ={}))) as url:
        port = int(url.rpartition(":")[2])
        found = [*await diagnose("port", "", port), *await diagnose("version", "", port)]

    assert [finding.detail for finding in found] == [
        f"rightseat {__version__} is running at {url}.",
        f"rightseat {__version__}.",
    ]


async def test_a_server_of_another_version_is_a_warning(diagnose: Diagnose, serve: Serve) -> None:
    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": "0.0.9"}, headers={"x-request-id": "1"})

    async with serve(Starlette(routes=[Route("/health", health)])) as url:
        (found,) = await diagnose("version", "", int(url.rpartition(":")[2]))

    assert found.state == "warning"
    assert found.detail == f"The server at {url} runs rightseat 0.0.9, but {__version__} is installed here."


async def test_another_server_with_a_health_page_is_not_ours(serve: Serve) -> None:
    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": "2.1"})

    async with serve(Starlette(routes=[Route("/health", health)])) as url:
        found = await find_running_server(config.Server(port=int(url.rpartition(":")[2])))

    assert found is None


async def test_files_that_others_can_read_are_listed(diagnose: Diagnose, tmp_path: Path) -> None:
    state = tmp_path / ".rightseat"
    state.mkdir()
    state.chmod(0o755)
    (state / "rightseat.db").touch()
    (state / "rightseat.db").chmod(0o644)

    _, opened = await diagnose("state_dir", "")
    state.chmod(0o700)
    closed = await diagnose("state_dir", "")

    assert opened.state == "warning"
    assert opened.detail == f"Other users of this machine can read files in {state}: rightseat.db."
    assert opened.fix is not None
    assert opened.fix.command == f"chmod -R go= {state}"
    assert [finding.state for finding in closed] == ["ok"]


async def test_a_broken_database_is_an_error(diagnose: Diagnose, tmp_path: Path) -> None:
    (tmp_path / ".rightseat").mkdir(mode=0o700)
    (tmp_path / ".rightseat/rightseat.db").write_bytes(b"not a database" * 1000)

    (found,) = await diagnose("database", "")

    assert found.state == "error"
    assert found.detail.endswith("rightseat.db cannot be read: file is not a database.")


async def test_services_that_respond_are_well_and_have_a_clock(diagnose: Diagnose) -> None:
    async with schema() as postgres, keys():
        text = f"threads: {{type: sql, url: '{postgres}'}}\nlog: {{type: redis, url: '{REDIS}'}}"
        found = [*await diagnose("postgresql", text), *await diagnose("redis", text), *await diagnose("clock", text)]

    assert [finding.state for finding in found] == ["ok", "ok", "ok"]
    assert found[2].detail == f"The clock differs from that of {POSTGRES.replace('postgres@', '')} by 0 s."


async def test_a_database_that_does_not_exist_is_named(diagnose: Diagnose) -> None:
    async with schema():
        url = POSTGRES.replace("/test", "/missing_database")
        (found,) = await diagnose("postgresql", f"threads: {{type: sql, url: '{url}'}}")

    assert found.state == "error"
    assert 'database "missing_database" does not exist' in found.detail
    assert found.fix is not None
    assert "`threads.url`" in found.fix.text


async def test_the_command_that_tries_an_address_has_the_user_and_no_password(diagnose: Diagnose) -> None:
    url = f"postgresql://alice:secret@127.0.0.1:{free_port()}/threads"

    (found,) = await diagnose("postgresql", f"threads: {{type: sql, url: '{url}?sslmode=disable'}}")

    assert found.fix is not None
    assert found.fix.command == f"psql {url.replace(':secret', '')} -c 'SELECT 1'"
    assert "secret" not in str(found)
    assert "alice" not in found.detail


async def test_a_clock_that_is_wrong_is_found_by_a_providers_date(diagnose: Diagnose) -> None:
    old = f"HTTP/1.1 404 Not Found\r\ndate: {formatdate(0, usegmt=True)}\r\ncontent-length: 0\r\n\r\n".encode()
    async with playing(once(old)) as server:
        url = f"{server.url}/v1"
        (found,) = await diagnose("clock", f"models: {{default: {{type: openai, model: m, base_url: '{url}'}}}}")

    assert found.state == "error"
    assert found.detail.startswith("The clock of this machine is ")
    assert found.detail.endswith(f" s ahead of that of {url}.")
    assert judge_skew(-31, "x").detail == "The clock of this machine is 31 s behind that of x."


SIGN_IN = """
faces: [{{type: operator}}, {{type: console}}]
server: {{public_url: "http://localhost:8000"}}
access: {{oidc: {{name: Example, issuer: "{url}", client_id: c, timeout: 5, grants: [{{scopes: ["*"]}}]}}}}
"""


async def test_an_identity_provider_is_asked_for_its_discovery_document(diagnose: Diagnose, serve: Serve) -> None:
    provider = FakeProvider()
    async with serve(provider.app()) as provider.url:
        (good,) = await diagnose("sign_in", SIGN_IN.format(url=provider.url))
        (clock,) = await diagnose("clock", SIGN_IN.format(url=provider.url))
        provider.metadata = {"code_challenge_methods_supported": ["plain"]}
        (without_pkce,) = await diagnose("sign_in", SIGN_IN.format(url=provider.url))
        provider.metadata = {"jwks_uri": f"{provider.url}/nothing"}
        (without_keys,) = await diagnose("sign_in", SIGN_IN.format(url=provider.url))
        provider.metadata = {"issuer": f"{provider.url}/"}
        (other,) = await diagnose("sign_in", SIGN_IN.format(url=provider.url))
    (gone,) = await diagnose("sign_in", SIGN_IN.format(url=provider.url))

    assert (good.state, good.detail) == ("ok", f"{provider.url} responds, and its public keys can be read.")
    assert clock.state == "ok"
    assert {one.state for one in (without_pkce, without_keys, other, gone)} == {"error"}
    assert "does not support PKCE with S256" in without_pkce.detail
    assert without_keys.detail == f"The public keys at {provider.url}/nothing cannot be read."
    assert f"names the issuer '{provider.url}/', but `access.oidc.issuer` is '{provider.url}'" in other.detail
    assert gone.detail.startswith("Sign-in with Example does not work: ")
    assert gone.fix is not None
    assert gone.fix.command == f"curl {provider.url}/.well-known/openid-configuration"


async def test_an_mcp_server_that_starts_lists_its_tools(diagnose: Diagnose) -> None:
    root = Path(__file__).parent.parent.parent
    program = f"command: '{sys.executable}', args: [-m, tests.toolboxes.mcp.servers], env: {{PYTHONPATH: '{root}'}}"
    program += ", discovery_timeout: 60"

    (found,) = await diagnose("mcp", f"toolboxes: {{docs: {{type: mcp, {program}}}}}")

    assert found.state == "ok"
    assert " tools: " in found.detail


async def test_a_plugin_without_its_secret_is_a_warning(
    diagnose: Diagnose, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PLUGINS / "weather", tmp_path / "plugins/weather")
    text = "toolboxes: {apis: {type: plugins, folders: [plugins]}}"

    lacking = await diagnose("plugins", text)
    monkeypatch.setenv("RIGHTSEAT_SECRET_WEATHER_KEY", "canary")
    bound = "secrets: [{name: WEATHER_KEY, plugins: [weather]}]"
    complete = await diagnose("plugins", text.replace("folders", f"{bound}, folders"))

    details = {finding.detail: finding.fix for finding in lacking}
    fix = details["The plugin weather needs the secret WEATHER_KEY."]
    assert fix is not None
    assert fix.text == "Set RIGHTSEAT_SECRET_WEATHER_KEY."
    assert "WEATHER_KEY" not in "".join(finding.detail for finding in complete)


async def test_remote_agents_are_asked_without_a_run(diagnose: Diagnose, serve: Serve) -> None:
    runs: list[str] = []

    async def run(request: Request) -> Response:
        runs.append(request.method)
        return Response()

    async with serve(Starlette(routes=[Route("/agent", run, methods=["POST"])])) as url:
        agents = f"well: {{type: agui, url: '{url}/agent'}}, lost: {{type: agui, url: '{url}/other'}}"
        found = await diagnose("agent", f"agents: {{{agents}, down: {{type: agui, url: 'http://127.0.0.1:1/'}}}}")

    assert {finding.subject: finding.state for finding in found} == {
        "agents.well": "ok",
        "agents.lost": "error",
        "agents.down": "error",
    }
    assert runs == []
    assert "http://127.0.0.1:1/" in found[2].detail


async def test_every_face_answers_its_clients_though_keys_are_asked_for(diagnose: Diagnose) -> None:
    types = ("copilotkit", "openai", "openbb", "mcp", "metrics", "operator", "console")
    faces = f"faces: [{', '.join(f'{{type: {one}}}' for one in types)}]"
    key = f"access: {{keys: [{{name: ci, prefix: abcdefgh, hash: {hashlib.sha256(b'x').hexdigest()}}}]}}"

    found = await diagnose("face", f"{faces}\n{key}")

    assert [(finding.subject, finding.state) for finding in found] == [(f"faces[{n}]", "ok") for n in range(len(types))]


async def test_an_origin_that_no_browser_sends_is_a_warning(diagnose: Diagnose) -> None:
    (found,) = await diagnose("origins", "server: {origins: ['https://App.example.com:443']}")

    assert found.state == "warning"
    assert found.fix is not None
    assert found.fix.text == "Write https://app.example.com."


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("localhost:3000", "http://localhost:3000"),
        ("HTTPS://App.Example.com:443/chat?x", "https://app.example.com"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_an_origin_is_written_as_a_browser_sends_it(given: str, sent: str) -> None:
    assert normalize_origin(given) == sent


async def test_a_face_with_origins_of_its_own_is_fixed_there(diagnose: Diagnose) -> None:
    text = "faces: [{type: openbb, origins: ['https://pro.openbb.co']}]"

    (refused,) = await diagnose("origin", text, origin="https://desk.test")
    (allowed,) = await diagnose("origin", text, origin="https://pro.openbb.co/")

    assert refused.fix is not None
    assert refused.fix.yaml == "faces: [{type: openbb, origins: [https://pro.openbb.co, https://desk.test]}]"
    assert allowed.state == "ok"
