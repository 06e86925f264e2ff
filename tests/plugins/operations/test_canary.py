"""A secret that is searched for: after success and after each error it is nowhere but in the request."""

import base64
import json
import logging
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from rightseat.egress.redaction import Redactor, redact_logs
from rightseat.plugins.definition import Auth
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.scope import Scope
from rightseat.plugins.slots import fill_operation
from tests.plugins.operations.examples import in_turn, json_answer, operation, parameter, plugin, sender
from tests.tcp import Visit, playing

CANARY = "c4n4ry/+&=secret"
PLAIN = (CANARY, quote(CANARY), quote(CANARY, safe=""))
PACKED = tuple(base64.b64encode(f"{before}{CANARY}".encode()).decode() for before in ("", "u", "u:"))
ECHO = json.dumps({"detail": f"bad key {CANARY}", "forms": [*PLAIN, *PACKED]})
FORMS = (*PLAIN, *(form[4:-4] for form in PACKED))

AUTH = (
    Auth("header", {"X-Key": "${secret:KEY}"}),
    Auth("param", {"key": "${secret:KEY}"}),
    Auth("cookie", {"sid": "v${secret:KEY}"}),
)


class Listener:
    """A model that answers nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        self.heard: list[ModelRequest] = []

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        self.heard.append(wanted)
        return ModelResponse('{"city": null}')


async def silent(visit: Visit) -> None:
    await visit.request()
    await visit.gone()


CASES: dict[str, Any] = {
    "success": in_turn(json_answer(ECHO)),
    "success as text": in_turn(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n" + ECHO.encode()),
    "success as a file": in_turn(b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n\r\n" + ECHO.encode()),
    "http_status": in_turn(json_answer(ECHO, "403 No")),
    "redirect": in_turn(json_answer(ECHO, "302 Found", f"location: http://x.example/?key={quote(CANARY, safe='')}")),
    "response_too_large": in_turn(json_answer(ECHO * 100)),
    "timeout": silent,
    "connect": in_turn(b"SSH " + CANARY.encode()),
}


@pytest.mark.parametrize("case", [*CASES, "egress_blocked", "bad_path_value", "secret_missing"])
async def test_R_3_7_a_secret_appears_in_no_output_record_or_log(case: str, caplog: pytest.LogCaptureFixture) -> None:
    redactor = Redactor()
    caplog.set_level(logging.DEBUG)
    auth = [*AUTH, Auth("header", {"X-None": "${secret:NONE}"})] if case == "secret_missing" else AUTH
    one = operation(parameter("city"), parameter("id", "path"), path="/t/{id}", response={"type": "array"})
    sends = sender(redactor, largest=10_000, KEY=CANARY)
    arguments = {"city": "x", "id": ".." if case == "bad_path_value" else "1"}
    script = CASES.get(case, CASES["success"])
    async with playing(script) as server:
        there = plugin("http://10.0.0.1" if case == "egress_blocked" else server.url, auth=auth)
        try:
            outcome: StepResult | StepFailed = await sends.send(there, one, arguments, {}, timeout=0.5)
        except StepFailed as error:
            outcome = error
        with redact_logs(redactor):
            logging.getLogger("tests.canary").warning("outcome %r of %s", outcome, server.requests)

    if isinstance(outcome, StepResult):
        seen = [msgspec.json.encode(outcome).decode(), *(base64.b64decode(a.data).decode() for a in outcome.artifacts)]
        listener = Listener()
        scope = Scope("Which?", data=outcome.output, data_from="get", steps={"get": outcome})
        await fill_operation(there, operation(parameter("city", required=True)), {}, scope, listener)
        seen += [wanted.user + wanted.system for wanted in listener.heard]
        assert listener.heard
    else:
        assert outcome.code == case
        seen = [outcome.message, repr(outcome), json.dumps(outcome.details), str(outcome.__context__)]
    seen += [caplog.text, repr(sends.preview(there, one, {"id": "1"}, {}))]
    was_sent = any(CANARY in (request.header("x-key") or "") for request in server.requests)
    assert was_sent == (case not in ("egress_blocked", "bad_path_value", "secret_missing"))
    for text in seen:
        assert [form for form in FORMS if form in text] == []
