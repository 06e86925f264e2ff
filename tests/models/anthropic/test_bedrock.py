"""Claude on Bedrock with keys of AWS: what is sent and signed, and answers in AWS's frames."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from rightseat import config
from rightseat.core.ask import Parameters
from rightseat.core.errors import (
    ConfigError,
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
)
from rightseat.core.messages import user
from rightseat.core.model import Prompt, TextChunk
from rightseat.egress.credentials.sigv4 import AwsKeys, sign
from rightseat.egress.request import OutgoingRequest
from rightseat.models.anthropic import Anthropic
from tests.models.anthropic.framing import answered, framed
from tests.models.anthropic.test_decoder import CHUNKS, failure, model_of
from tests.models.asking import PROMPT, answer_of
from tests.models.recorded import once, played, refusal
from tests.tcp import Request, Script, Server, Visit, answers
from tests.wire.test_eventstream import chunk, exception

KEYS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "canary/secret+key", "session_token": "canary-session"}
MODEL = "us.anthropic.claude-sonnet-5-v1:0"
RUNTIME: dict[str, Any] = {"platform": "bedrock-runtime", "region": "us-east-1", "aws": KEYS, "api_key": None}
START = chunk(b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}')


@asynccontextmanager
async def bedrock(script: Script | bytes, **options: Any) -> AsyncIterator[tuple[Anthropic, Server]]:
    async with model_of(script, **RUNTIME | options) as (model, server):
        yield model, server


def assert_signed(sent: Request, service: str) -> None:
    """Is the signature that of the request as it came?"""
    method, target, _ = sent.line.split()
    moment = datetime.strptime(sent.header("x-amz-date") or "", "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    headers = {"content-type": sent.header("content-type") or ""}
    keys = AwsKeys(KEYS["access_key_id"], KEYS["secret_access_key"], KEYS["session_token"])
    asked = OutgoingRequest(method, sent.header("host") or "", target, headers, sent.body)
    expected = sign(asked, keys, "us-east-1", service, moment)
    assert {name: sent.header(name) for name in expected} == expected
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


@pytest.mark.parametrize("name", CHUNKS)
async def test_an_answer_in_frames_becomes_the_same_chunks(name: str) -> None:
    async with bedrock(framed(name)) as (model, _):
        chunks = await answer_of(model)

    assert chunks == CHUNKS[name]


async def test_the_smallest_request_is_signed() -> None:
    async with bedrock(framed("text"), headers={"anthropic-beta": "one,two"}) as (model, server):
        _ = [one async for one in model.stream(PROMPT)]

    sent = server.requests[0]
    assert sent.line == "POST /model/claude-sonnet-5/invoke-with-response-stream HTTP/1.1"
    assert sent.header("accept") == "application/vnd.amazon.eventstream"
    assert sent.header("anthropic-version") is None
    assert sent.json == {
        "anthropic_version": "2026-10-21",
        "anthropic_beta": ["one", "two"],
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    }
    assert_signed(sent, "bedrock")


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (MODEL, MODEL),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/x", "arn:aws:bedrock:us-east-1:1:inference-profile%2Fx"),
    ],
)
async def test_names_of_models_with_colons_and_slashes_are_signed_as_they_are_sent(model: str, path: str) -> None:
    async with bedrock(framed("text"), client_models=("*",)) as (asked, server):
        prompt = Prompt((user("Hi"),), (), Parameters(model=model))
        _ = [one async for one in asked.stream(prompt)]

    assert server.requests[0].line.split()[1] == f"/model/{path}/invoke-with-response-stream"
    assert_signed(server.requests[0], "bedrock")


@pytest.mark.parametrize("model", ["..", ".", ""])
async def test_a_name_that_would_lead_elsewhere_is_refused(model: str) -> None:
    async with bedrock(framed("text"), client_models=("*",)) as (asked, server):
        with pytest.raises(ModelRefused, match="is not a valid model name"):
            asked.stream(Prompt((user("Hi"),), (), Parameters(model=model)))

    assert server.requests == []


async def test_a_bedrock_key_works_there_too() -> None:
    async with bedrock(framed("text"), aws=None, api_key="bedrock-key") as (model, server):
        _ = [one async for one in model.stream(PROMPT)]

    assert server.requests[0].header("authorization") == "Bearer bedrock-key"
    assert server.requests[0].header("x-amz-date") is None


async def test_the_address_of_the_messages_api_accepts_signatures_too() -> None:
    async with bedrock(played("anthropic", "text"), platform="bedrock") as (model, server):
        _ = [one async for one in model.stream(PROMPT)]

    assert server.requests[0].line == "POST /v1/messages HTTP/1.1"
    assert_signed(server.requests[0], "bedrock-mantle")


async def test_the_older_version_has_the_name_that_bedrock_knows() -> None:
    async with bedrock(framed("text"), version="2023-06-01") as (model, server):
        _ = [one async for one in model.stream(PROMPT)]

    assert server.requests[0].json["anthropic_version"] == "bedrock-2023-05-31"


@pytest.mark.parametrize(
    ("frame", "kind", "said"),
    [
        (exception("throttlingException", "Too many tokens"), ModelBusy, "overloaded"),
        (exception("serviceUnavailableException", "x"), ModelBusy, "overloaded"),
        (exception("modelStreamErrorException", "x"), ModelUnreachable, "ended its response early with an error"),
        (exception("internalServerException", "x"), ModelUnreachable, "ended its response early with an error"),
        (exception("validationException", "No such tool"), ModelRefused, "validationException: No such tool"),
        (exception("validationException", "prompt is too long: 9"), ContextTooLong, "conversation too long"),
        (chunk(b'{"type": "error", "error": {"type": "overloaded_error"}}'), ModelBusy, "overloaded"),
        (START[:-1] + b"x", ModelUnreachable, "ended its response early with an error"),
        (START[:-1], ModelUnreachable, "ended early"),
        (b"", ModelUnreachable, "ended early"),
    ],
    ids=["throttled", "unavailable", "model", "internal", "invalid", "too long", "claude", "damaged", "cut", "ended"],
)
async def test_a_failure_inside_a_response_comes_after_its_chunks(
    frame: bytes, kind: type[ModelError], said: str
) -> None:
    chunks, error = await failure(once(answered(START, frame) if frame else answered(START)), **RUNTIME)

    assert chunks == [TextChunk("Hel")]
    assert type(error) is kind
    assert said in error.message


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        ("403 Forbidden", "The security token included in the request is expired", ModelRefusedKey),
        ("403 Forbidden", "The request signature we calculated does not match canary/secret+key", ModelRefusedKey),
        ("400 Bad Request", "Input is too long: prompt is too long: 300000 tokens", ContextTooLong),
        ("400 Bad Request", "The provided model identifier is invalid.", ModelRefused),
        ("429 Too Many Requests", "Too many requests", ModelBusy),
        ("503 Service Unavailable", "Later", ModelUnreachable),
    ],
)
async def test_a_refusal_is_an_error_of_its_kind_and_keys_stay_out_of_the_log(
    status: str, said: str, kind: type[ModelError], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        _, error = await failure(refusal(status, json.dumps({"message": said})), **RUNTIME)

    assert type(error) is kind
    assert said.replace("canary/secret+key", "[key]") in caplog.text
    assert "canary" not in caplog.text


async def test_a_response_of_another_content_type_is_refused() -> None:
    _, error = await failure(answers(played("anthropic", "text")), **RUNTIME)

    assert "returned text/event-stream" in error.message


async def test_a_refused_signature_is_not_sent_again() -> None:
    async with bedrock(refusal("401 x", "{}")) as (model, server):
        with pytest.raises(ModelRefusedKey):
            _ = [one async for one in model.stream(PROMPT)]

    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("said", "requests"),
    [
        ("The security token included in the request is expired", 2),
        ("The security token included in the request is invalid.", 2),
        ("You don't have access to the model with the specified model ID.", 1),
    ],
)
async def test_expired_keys_are_looked_up_again_and_the_request_is_retried_once(
    said: str, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "old-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "old-secret")

    async def script(visit: Visit) -> None:
        is_new = "Credential=new-id/" in ((await visit.request()).header("authorization") or "")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "new-id")
        await visit.send(framed("text") if is_new else refusal("403 Forbidden", json.dumps({"message": said})))

    async with bedrock(script, aws={}) as (model, server):
        if requests == 1:
            with pytest.raises(ModelRefusedKey):
                await answer_of(model)
        else:
            assert await answer_of(model) == CHUNKS["text"]

    assert len(server.requests) == requests


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("platform: bedrock-runtime", "the platform bedrock-runtime needs `region`"),
        ("platform: bedrock-runtime, base_url: 'http://x', aws: {}", "the platform bedrock-runtime needs `region`"),
        ("platform: foundry, resource: r, aws: {}", "`aws` is for the platforms bedrock and bedrock-runtime"),
        ("platform: bedrock, region: r, api_key: k, aws: {}", "`api_key` and `aws` exclude each other; remove one"),
    ],
)
def test_what_does_not_go_together_is_refused_by_the_configuration(options: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config.parse(f"models: {{default: {{type: anthropic, model: m, {options}}}}}")
