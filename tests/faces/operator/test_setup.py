"""The first start in the console: proposals, the setup code, and the file that is written."""

import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from rightseat import app, config
from rightseat.access.setup_code import MAX_WRONG, VALID_S, SetupCode
from rightseat.config.starter import PROVIDERS
from rightseat.health.local_models import LOCAL_SERVERS, UnknownChoice, write_choice
from rightseat.health.own_server import OwnServer
from rightseat.health.starter_trial import try_starter
from tests.conftest import Serve
from tests.faces.operator.test_operator import CHANGING


class FirstStart:
    """A server without a configuration file, in an empty folder."""

    def __init__(self, client: httpx2.AsyncClient, code: SetupCode, restarts: list[str], own_server: OwnServer) -> None:
        self.client = client
        self.code = code
        self.own_server = own_server
        self.restarts = restarts

    async def get(self, code: str | None = None) -> httpx2.Response:
        headers = {"x-rightseat-setup": self.code.text if code is None else code}
        return await self.client.get("/operator/setup", headers=headers)

    async def post(self, action: str, code: str | None = None, **body: object) -> httpx2.Response:
        body = {"code": self.code.text if code is None else code, **body}
        return await self.client.post(f"/operator/setup/{action}", json=body, headers=CHANGING)


@asynccontextmanager
async def first_start(serve: Serve, text: str = config.IN_MEMORY) -> AsyncIterator[FirstStart]:
    found = config.parse(text, environ={})
    assembly = app.assemble(found)
    assert assembly.own_server is not None
    restarts: list[str] = []
    code = assembly.own_server.setup_code = SetupCode()
    assembly.own_server.restart = lambda: restarts.append("restart")
    async with (
        serve(app.application(assembly, found.server)) as url,
        httpx2.AsyncClient(base_url=url) as client,
    ):
        yield FirstStart(client, code, restarts, assembly.own_server)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for provider in PROVIDERS.values():
        if provider.variable:
            monkeypatch.delenv(provider.variable, raising=False)
    return tmp_path


async def test_the_file_that_was_shown_is_written_once_for_its_user_only_and_the_server_starts_again(
    serve: Serve, folder: Path
) -> None:
    async with first_start(serve) as server:
        shown = (await server.post("check", choice="ollama", model="qwen3:8b")).json()
        before = (folder / "rightseat.yaml").exists()
        written = await server.post("write", choice="ollama", model="qwen3:8b")
        again = await server.post("write", choice="ollama", model="qwen3:8b")

    file = folder / "rightseat.yaml"
    assert not before
    assert [written.status_code, written.json()] == [202, {"file": "rightseat.yaml"}]
    assert file.read_text() == shown["text"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert config.read(file, {}).models["default"].options.model_dump()["model"] == "qwen3:8b"
    assert "$schema" not in shown["text"]  # making that file would delay the restart by seconds
    assert [again.status_code, server.restarts] == [409, ["restart"]]


async def test_the_process_that_wrote_the_file_still_names_it_as_missing_so_that_the_page_waits_for_the_next(
    serve: Serve,
) -> None:
    async with first_start(serve) as server:
        await server.post("write", choice="demo")
        me, answer = await server.client.get("/operator/me"), await server.get()

    assert me.json()["setup"] == {"file": "rightseat.yaml"}
    assert answer.status_code == 409


@pytest.mark.parametrize("code", ["", "AAAA-AAAA"])
async def test_without_the_right_code_nothing_is_shown_or_written(serve: Serve, folder: Path, code: str) -> None:
    async with first_start(serve) as server:
        answers = [await server.get(code), *[await server.post(to, code, choice="demo") for to in ("check", "write")]]

    assert [answer.status_code for answer in answers] == [403] * 3
    assert answers[0].json()["error"] == "setup_code_refused"
    assert server.restarts == []
    assert not (folder / "rightseat.yaml").exists()


async def test_an_existing_file_is_never_overwritten(serve: Serve, folder: Path) -> None:
    async with first_start(serve) as server:
        (folder / "rightseat.yaml").write_text("models: {}")
        answer = await server.post("write", choice="demo")

    assert answer.status_code == 409
    assert (folder / "rightseat.yaml").read_text() == "models: {}"


async def test_pages_of_other_origins_cannot_write(serve: Serve, folder: Path) -> None:
    async with first_start(serve) as server:
        foreign = {"origin": "http://localhost:3000", "sec-fetch-site": "same-site"}
        body = {"choice": "demo", "code": server.code.text}
        answer = await server.client.post("/operator/setup/write", json=body, headers=CHANGING | foreign)

    assert answer.status_code == 403
    assert not (folder / "rightseat.yaml").exists()


async def test_a_server_that_other_machines_reach_cannot_be_set_up(serve: Serve) -> None:
    text = "{log: {type: memory}, threads: {type: memory}, server: {host: 0.0.0.0, allow_unauthenticated: true}}"
    async with first_start(serve, text) as server:
        answer, me = await server.get(), await server.client.get("/operator/me")

    assert [answer.status_code, me.json()["setup"]] == [409, None]


async def test_a_file_with_which_the_server_would_not_start_is_not_written(serve: Serve, folder: Path) -> None:
    async with first_start(serve) as server:
        answer = await server.post("write", choice="openai", model="gpt-4o-mini")

    assert answer.status_code == 400
    assert "the environment variable OPENAI_API_KEY is not set" in answer.json()["message"]
    assert server.restarts == []
    assert not (folder / "rightseat.yaml").exists()


async def test_choices_tell_which_variables_are_set_and_never_their_values(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-value")
    (folder / "small.gguf").write_bytes(b"GGUF")
    async with first_start(serve) as server:
        answer, me = await server.get(), await server.client.get("/operator/me")

    found = {choice["id"]: choice for choice in answer.json()["choices"]}
    assert found["anthropic"]["is_found"]
    assert "is_found" not in found["openai"]
    assert found["gguf"]["models"] == ["small.gguf"]
    assert "canary-value" not in answer.text
    assert me.json()["setup"] == {"file": "rightseat.yaml"}


@pytest.mark.parametrize("choice", [*LOCAL_SERVERS, *(name for name in PROVIDERS if name != "gguf")])
def test_the_file_of_every_choice_is_valid(choice: str) -> None:
    environ = {provider.variable: "set" for provider in PROVIDERS.values() if provider.variable}

    assert list(config.parse(write_choice(choice, ""), environ=environ).models) == ["default"]


def test_a_name_of_a_model_cannot_add_lines_to_the_file() -> None:
    with pytest.raises(UnknownChoice):
        write_choice("openai", "gpt\nserver: {host: 0.0.0.0}")
    text = write_choice("ollama", "a: {b}, # c")

    assert config.parse(text, environ={}).models["default"].options.model_dump()["model"] == "a: {b}, # c"


def test_a_file_elsewhere_on_the_machine_is_no_choice() -> None:
    with pytest.raises(UnknownChoice):
        write_choice("gguf", "/etc/passwd")


async def test_a_key_that_is_not_set_is_named_and_the_model_is_not_tried() -> None:
    outcome = await try_starter(write_choice("openai", "gpt-4o-mini"))

    assert outcome.status == "skipped"
    assert "OPENAI_API_KEY is not set" in outcome.detail


async def test_the_demo_model_is_tried() -> None:
    assert (await try_starter(write_choice("demo", ""))).status == "ok"


def test_a_code_ends_after_ten_minutes_one_use_or_many_wrong_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    expired, used, guessed = SetupCode(), SetupCode(), SetupCode()
    used.use()
    for _ in range(MAX_WRONG):
        assert not guessed.matches("AAAA-AAAA")
    assert expired.matches(expired.text.lower())
    monkeypatch.setattr("time.monotonic", lambda: float(VALID_S * 1e6))

    assert not any(code.matches(code.text) for code in (expired, used, guessed))


async def test_another_server_with_openais_api_is_written_with_the_name_of_its_variable_and_the_port_in_use(
    serve: Serve, folder: Path
) -> None:
    address = "http://127.0.0.1:9/v1"
    async with first_start(serve) as server:
        port = server.client.base_url.port
        server.own_server.url = str(server.client.base_url)
        shown = await server.post("check", choice="other", model="mixtral", base_url=address, variable="GROQ_API_KEY")
        written = await server.post("write", choice="other", model="mixtral", base_url=address)

    assert "api_key: ${GROQ_API_KEY}" in shown.json()["text"]
    assert written.status_code == 202
    found = config.read(folder / "rightseat.yaml", {})
    model = found.models["default"].options.model_dump()
    assert [model["model"], model["base_url"], model["api_key"]] == ["mixtral", address, None]
    assert found.server.port == port


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "m", "base_url": "file:///etc/passwd"}, "Write the address before /chat/completions"),
        ({"model": "m", "base_url": "http://user:secret@x/v1"}, "without a key"),
        ({"model": "m", "base_url": "http://x/v1\nmodels:"}, "Write the address"),
        ({"model": "m", "base_url": "http://x:99999/v1"}, "Write the address"),
        ({"model": "", "base_url": "http://x/v1"}, "Name the model"),
        ({"model": "m", "base_url": "http://x/v1", "variable": "a}: b"}, "The name of an environment variable"),
    ],
)
async def test_what_is_no_address_of_a_server_is_not_written(
    serve: Serve, folder: Path, given: dict[str, str], message: str
) -> None:
    async with first_start(serve) as server:
        answer = await server.post("write", choice="other", **given)

    assert answer.status_code == 400
    assert message in answer.json()["message"]
    assert not (folder / "rightseat.yaml").exists()
