"""A secret that an API sends back is looked for wherever a flow can fail after that, with each code there is."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from rightseat.core.types import JsonValue
from rightseat.egress.redaction import Redactor, redact_logs
from rightseat.egress.secrets import EVERY_SECRET, SecretGrant, Secrets
from rightseat.egress.untrusted import UntrustedClient
from rightseat.plugins.definition import Auth, Flow, PluginDatabase, Step
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.results import StepErrorCode
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scope import Scope
from rightseat.plugins.sql.databases import Databases
from rightseat.plugins.testing.mocks import ScriptedModelCaller
from tests.plugins.flows.playing import Play, exchange, flow_of, get, plugin_of, post, speak
from tests.plugins.operations.examples import json_answer
from tests.tcp import Visit, playing

EVERYWHERE = [SecretGrant(EVERY_SECRET)]

SECRET = "case-secret-KEY-7f3a"
OTHER = "case-secret-OTHER-7f3a"
ECHO: JsonValue = {"echo": SECRET, SECRET: SECRET, "deep": [{"key": f"Bearer {SECRET}"}]}
AUTH = (Auth("header", {"Authorization": "Bearer ${secret:KEY}"}),)
SORRY = speak("on_error", "{data} {error.message} {error.code} {context} {steps.start.output}")
CHOICES: JsonValue = [{"step": "end", "description": "enough"}, {"step": "start", "description": "again"}]
ITEM = Step("then", "api", {"endpoint": "GET /items/{id}"}, args={"id": "../{steps.start.output.echo}"})

THINK = speak("then", "{data}", "end", output_schema={"type": "object"})
UNEQUAL = "SELECT word FROM words WHERE word = 'case-secret-KEY-7f3a' AND word = (SELECT word, word FROM words)"
WORDS = "CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('case-secret-KEY-7f3a');"
CATALOG = "tables: {words: {columns: {word: a word}}}"


def sql(statement: str) -> list[JsonValue]:
    return [{"sql": statement, "explanation": SECRET}] * 3


FAILURES: dict[str, tuple[Step, dict[str, Any]]] = {
    "extract_missing": (Step("then", "extract", {"keys": ["nothing"]}), {}),
    "render_input": (Step("then", "render"), {}),
    "choice_failed": (Step("then", "choice", {"instruction": "{data}", "choices": CHOICES}), {"then": ["x", "y"]}),
    "bad_path_value": (ITEM, {}),
    "slot_missing": (post("then"), {"then": [{"name": 5}, {"name": 5}, {"name": 5}]}),
    "llm_failed": (THINK, {"then": [SECRET] * 3}),
    "llm_context": (speak("then", "{data}" + "x" * 200_000), {}),
    "denied": (replace(post("then"), dangerous=True), {"then": {"name": "a"}}),
    "max_steps": (get("then", "start"), {}),
    "sql_refused": (Step("then", "sql"), {"then": sql("DELETE FROM words WHERE word = 'case-secret-KEY-7f3a'")}),
    "sql_failed": (Step("then", "sql"), {"then": sql(UNEQUAL)}),
    "tool_failed": (Step("then", "shout", is_lib=True), {}),
    "flow_timeout": (THINK, {}),
    "internal": (THINK, {}),
}
TOOL = f"""
class Shout:
    name, description, params = "shout", "Shouts.", {{}}
    async def run(self, ctx, **params):
        print("{SECRET}")
        raise ValueError("{SECRET}")
exported = [Shout]
"""


class Odd(ScriptedModelCaller):
    """A model that never answers one step, or that breaks what asks it."""

    def __init__(self, script: dict[str, Any], code: str) -> None:
        super().__init__(script)
        self._code = code
        self.was_asked = asyncio.Event()

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        if wanted.name != "then" or self._code not in ("flow_timeout", "internal", "cancelled"):
            return await super().call(wanted)
        self.prompts += [wanted.system, wanted.user]
        self.was_asked.set()
        if self._code == "internal":
            raise ZeroDivisionError(f"{SECRET} {wanted.user}")
        await asyncio.Event().wait()
        raise AssertionError


@asynccontextmanager
async def played(code: str, flow: Flow, model: dict[str, Any], folder: Path, scope: Scope) -> AsyncIterator[Play]:
    """A play with a database and a tool that know the secret too."""
    (folder / "lib").mkdir()
    (folder / "lib/__init__.py").write_text(TOOL)
    (folder / "words.sql").write_text(WORDS)
    (folder / "catalog.yaml").write_text(CATALOG)
    database = PluginDatabase("words", "words", Path("catalog.yaml"), Path("words.sql"))
    plugin = replace(plugin_of(auth=AUTH), folder=folder, databases={"words": database}, lib="d1")
    http = [exchange("GET", "/items", json=ECHO)] * 9
    async with Databases(folder / "state") as databases, ToolRunner(["d1"]) as tool_runner:
        play = Play(flow, model, http, scope, plugin, databases=databases, tool_runner=tool_runner)
        play.model_caller = Odd(model, code)
        with redact_logs(play.redactor):  # as it is while a toolbox of plugins is open
            yield play


def flow_with(then: Step, **more: Any) -> Flow:
    return flow_of(get("start", "then"), then, Step("end", "none"), on_error=SORRY, max_steps=5, **more)


def check_nowhere(play: Play, logged: str) -> None:
    seen = "".join(play.model_caller.prompts) + play.trace.text() + logged
    assert [secret for secret in (SECRET, OTHER) if secret in seen] == []
    assert "••••" in play.trace.text()


def test_section_17_8_every_code_has_a_case() -> None:
    assert FAILURES.keys() | SENDING.keys() | {"cancelled"} == set(get_args(StepErrorCode))


@pytest.mark.parametrize("code", FAILURES)
async def test_R_3_7_section_17_8_an_echoed_secret_is_stored_nowhere_after_an_error(
    code: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("DEBUG")
    step, model = FAILURES[code]
    flow = flow_with(step, timeout=0.5 if code == "flow_timeout" else 600.0)
    scope = Scope("What is there?", is_attended=False)
    async with played(code, flow, model | {"on_error": "Sorry."}, tmp_path, scope) as play:
        await play.run()

    assert play.trace.error_code() == code
    assert play.trace.status() == "failed_handled"
    check_nowhere(play, caplog.text)


async def test_section_17_8_an_echoed_secret_is_stored_nowhere_after_a_person_stopped_the_flow(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("DEBUG")
    missing = {"then": [{"name": None}] * 3}
    async with played("", flow_with(post("then")), missing, tmp_path, Scope("What is there?")) as play:
        await play.run()
        check_nowhere(play, caplog.text)
        assert SECRET not in json.dumps(play.question.memo)
        await play.go_on(cancelled=True)

    assert play.trace.status() == "cancelled"
    assert SECRET not in "".join(play.model_caller.prompts) + play.trace.text() + caplog.text


async def test_section_17_8_an_echoed_secret_is_stored_nowhere_after_the_client_disconnected(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("DEBUG")
    flow = flow_with(THINK)
    async with played("cancelled", flow, {}, tmp_path, Scope("What is there?")) as play, asyncio.timeout(30):
        running = asyncio.create_task(play.run())
        assert isinstance(play.model_caller, Odd)
        await play.model_caller.was_asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await running

    assert SECRET not in str(cancelled.value)
    check_nowhere(play, caplog.text)


# Requests that fail after one that did not


async def silent(visit: Visit) -> None:
    await visit.gone()


def answers(status: str, *headers: str, times: int = 1) -> Callable[[Visit], Any]:
    return lambda visit: visit.send(json_answer(json.dumps(ECHO) * times, status, *headers))


SENDING: dict[str, Callable[[Visit], Any]] = {
    "http_status": answers("403 No"),
    "redirect": answers("302 Found", f"location: http://x.example/?key={SECRET}"),
    "response_too_large": answers("200 OK", times=1000),
    "timeout": silent,
    "connect": lambda visit: visit.send(b"SSH " + SECRET.encode()),
    "egress_blocked": answers("200 OK"),
    "secret_missing": answers("200 OK"),
}


@pytest.mark.parametrize("code", SENDING)
async def test_section_17_8_an_echoed_secret_is_stored_nowhere_after_a_failed_request(
    code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secrets, allowed = {"RIGHTSEAT_SECRET_KEY": SECRET, "RIGHTSEAT_SECRET_OTHER": OTHER}, ["127.0.0.1"]

    async def script(visit: Visit) -> None:
        await visit.request()
        if len(visit.server.requests) > 1:
            await SENDING[code](visit)
            return
        if code == "secret_missing":  # from now on
            del secrets["RIGHTSEAT_SECRET_OTHER"]
        if code == "egress_blocked":
            allowed.clear()
        await visit.send(json_answer(json.dumps(ECHO)))

    auth = (*AUTH, Auth("header", {"X-Other": "${secret:OTHER}"}))
    redactor = Redactor()
    sender = OperationClient(
        UntrustedClient(),
        Secrets(secrets, grants=EVERYWHERE),
        redactor,
        lambda plugin: allowed,
        max_response_bytes=10_000,
    )
    flow, scope = flow_with(get("then", "end", timeout=0.5)), Scope("What is there?")
    async with playing(script) as server:
        plugin = replace(plugin_of(auth=auth), server=server.url)
        play = Play(flow, {"on_error": "Sorry."}, (), scope, plugin, redactor=redactor, sender=sender)
        await play.run()

    assert play.trace.error_code() == code
    assert (server.requests[0].header("authorization"), server.requests[0].header("x-other")) == (
        f"Bearer {SECRET}",
        OTHER,
    )
    check_nowhere(play, caplog.text)


async def test_section_17_8_an_echoed_secret_is_stored_nowhere_after_success(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("DEBUG")
    words = Step("then", "sql", {}, "end")
    model = {"then": sql("SELECT word FROM words"), "answer": "Fine."}
    async with played("", flow_with(words), model, tmp_path, Scope("What is there?")) as play:
        await play.run()

    assert play.trace.status() == "succeeded"
    check_nowhere(play, caplog.text)
