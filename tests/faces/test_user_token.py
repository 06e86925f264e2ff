"""Plugins that act for whoever is signed in: the token goes from the face to the token server, and nowhere else."""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from rightseat import app, config
from tests.access.credentials import AUDIENCE, ISSUER, RSA, jwks, token
from tests.conftest import serving
from tests.faces.copilotkit.current.serving import asking, read, text_of, visiting
from tests.faces.openbb import serving as openbb
from tests.faces.plugged import EXAMPLE, WEATHER
from tests.plugins.operations.authority import Authority, authority, form

Patch = pytest.MonkeyPatch
KEYS = [{"name": "robot", "key": "key-robot"}]
DOCUMENT = """
openapi: 3.0.3
info: {title: Weather, version: 1.0.0}
servers: [{url: "URL"}]
paths:
  /forecast:
    get:
      operationId: forecast
      description: What the weather will be in a city.
      parameters: [{name: city, in: query, required: true, schema: {type: string}}]
      responses: {"200": {description: It., content: {application/json: {schema: {type: object}}}}}
"""


def write_plugin(folder: Path, one: Authority) -> None:
    place = one.url.removeprefix("http://")
    said: dict[str, Any] = {
        "id": "weather",
        "name": "Weather",
        "description": "What the weather will be.",
        "version": "1.0.0",
    }
    args = {"client_id": "client", "client_secret": "${secret:KEY}", "grant": "token_exchange"}
    said |= {"auth": {"type": "oidc", "args": args | {"token_url": f"{one.url}/token"}}, "automatic_flow": True}
    said |= {"network": {"allow_private": [place]}}
    (folder / "weather").mkdir(parents=True)
    (folder / "weather" / "plugin.json").write_text(json.dumps(said))
    (folder / "weather" / "openapi.yaml").write_text(DOCUMENT.replace("URL", one.url))


def write_configuration(folder: Path, one: Authority, **changes: Any) -> Path:
    place = one.url.removeprefix("http://")
    binding = {"name": "KEY", "plugins": ["weather"], "hosts": [place]}
    toolbox: dict[str, Any] = {"type": "plugins", "folders": ["plugins"], "secrets": [binding]}
    toolbox["allow_private"] = {"weather": [place]}
    written = {
        "models": {"default": {"type": "ops.demo_model", "chunk_delay": 0}},
        "toolboxes": {"ops": toolbox | {"user_tokens": {"weather": [place]}} | changes.pop("toolbox", {})},
        "agents": {"default": {"type": "flows", "toolbox": "ops", **changes.pop("agent", {})}},
        "access": {"keys": KEYS, "jwt": {"issuer": ISSUER, "audience": AUDIENCE, "jwks": "keys.json"}},
        "faces": [{"type": "copilotkit", "path": "/copilotkit"}, {"type": "openbb", "path": "/openbb"}],
        "server": {"state_dir": "state"},
    }
    (folder / "keys.json").write_text(jwks(RSA))
    (folder / "rightseat.yaml").write_text(yaml.safe_dump(written | changes))
    return folder / "rightseat.yaml"


@asynccontextmanager
async def acting(folder: Path, monkeypatch: Patch, one: Authority, **changes: Any) -> AsyncIterator[str]:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setenv("RIGHTSEAT_SECRET_KEY", "client-secret-1")
    if not (folder / "plugins").exists():
        write_plugin(folder / "plugins", one)
    try:
        async with serving(app.build(config.read(write_configuration(folder, one, **changes)))) as url:
            yield url
    finally:
        for name in [name for name in sys.modules if name == "ops" or name.startswith("ops.")]:
            del sys.modules[name]


def bearer(credential: str) -> dict[str, str]:
    return {"authorization": f"Bearer {credential}"}


async def ask(client: httpx2.AsyncClient, run: str = "r-1", thread: str = "t-1") -> str:
    answer = await client.post("/agent/default/run", json=asking(WEATHER, run=run, thread=thread))
    assert answer.status_code == 200, answer.text
    return answer.text


def kept(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def test_R_3_2_the_token_of_each_user_is_exchanged_and_goes_nowhere_else(
    tmp_path: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    carol, dave = token(), token(sub="dave")
    said: list[str] = []
    async with authority() as one, acting(tmp_path, monkeypatch, one) as url:
        for number, credential in enumerate((carol, dave, carol)):
            async with visiting(url, **bearer(credential)) as client:
                said.append(await ask(client, f"r-{number}", f"t-{number}"))

    assert [form(asked)["subject_token"] for asked in one.asked] == [carol, dave]
    assert one.used == ["Bearer token-1", "Bearer token-2", "Bearer token-1"]
    for place in ("".join(said), caplog.text, kept(tmp_path / "state").decode("latin-1")):
        assert not any(secret in place for secret in (carol, dave, "token-1", "token-2", "client-secret-1"))
        assert not any(part in place for part in (carol.split(".")[1], dave.split(".")[2])), "not even a part of it"
    assert all('"status":"succeeded"' in one for one in said)
    assert b"Hangzhou" in kept(tmp_path / "state"), "what is kept was looked at"


async def test_openbb_carries_the_token_too(tmp_path: Path, monkeypatch: Patch) -> None:
    async with authority() as one, acting(tmp_path, monkeypatch, one) as url:
        await openbb.ask(f"{url}/openbb", openbb.question(text=WEATHER), **bearer(token()))

    assert one.used == ["Bearer token-1"]


async def test_a_key_is_no_user_token_and_is_not_passed_on(tmp_path: Path, monkeypatch: Patch) -> None:
    async with (
        authority() as one,
        acting(tmp_path, monkeypatch, one) as url,
        visiting(url, **bearer("key-robot")) as client,
    ):
        said = await ask(client)

    assert (one.asked, one.used) == ([], [])
    assert "acts on behalf of the signed-in user, and no user token is available" in said


async def test_without_the_operators_word_no_token_is_shown(
    tmp_path: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        authority() as one,
        acting(tmp_path, monkeypatch, one, toolbox={"user_tokens": {}}) as url,
        visiting(url, **bearer(token())) as client,
    ):
        said = await ask(client)

    assert (one.asked, one.used) == ([], [])
    assert "may not send user tokens" in said
    assert "The plugin weather acts for the user, and its requests will fail" in caplog.text


DURABLE: dict[str, Any] = {"engine": {"type": "dbos"}, "agent": {"durable": True}}


async def test_a_durable_run_has_its_token_and_keeps_none(tmp_path: Path, monkeypatch: Patch) -> None:
    credential = token()
    async with (
        authority() as one,
        acting(tmp_path, monkeypatch, one, **DURABLE) as url,
        visiting(url, **bearer(credential)) as client,
    ):
        said = await ask(client)

    assert one.used == ["Bearer token-1"]
    assert '"status":"succeeded"' in said
    assert b"Hangzhou" in kept(tmp_path / "state"), "what is kept was looked at"
    assert credential.encode() not in kept(tmp_path / "state")
    assert b"token-1" not in kept(tmp_path / "state")


async def test_a_run_that_another_process_resumes_has_no_token_and_reports_it(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    credential = token()
    async with authority() as one:
        one.gate.clear()
        async with acting(tmp_path, monkeypatch, one, **DURABLE) as url, visiting(url, **bearer(credential)) as client:
            asked = asyncio.create_task(ask(client))
            async with asyncio.timeout(30):
                await one.was_asked.wait()
        await asyncio.gather(asked, return_exceptions=True)
        one.gate.set()
        async with acting(tmp_path, monkeypatch, one, **DURABLE) as url, visiting(url, **bearer(credential)) as client:
            answer = await client.post("/agent/default/connect", json=asking(None))

    assert "no user token is available: the request had none, or the run was resumed after a restart" in answer.text
    assert text_of(read(answer.content))
    assert one.used == []
    assert credential.encode() not in kept(tmp_path / "state")
