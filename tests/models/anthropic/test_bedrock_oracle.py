"""Our signatures and our reading of AWS's frames, held against botocore and Anthropic's client for Bedrock."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import anthropic
import botocore.auth  # type: ignore[import-untyped] # it has no types
import pytest
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]

from rightseat.core.errors import ModelError
from rightseat.egress.credentials.sigv4 import AwsKeys, sign
from rightseat.egress.request import OutgoingRequest
from tests.models.anthropic.framing import answered, framed
from tests.models.anthropic.test_bedrock import KEYS, MODEL, RUNTIME, START, assert_signed
from tests.models.anthropic.test_decoder import CHUNKS, model_of
from tests.models.anthropic.test_oracle import Said, ours
from tests.models.recorded import once
from tests.wire.test_eventstream import exception

MOMENT = datetime(2026, 11, 15, 12, 0, 1, tzinfo=UTC)


def signed_by_botocore(asked: OutgoingRequest, keys: AwsKeys) -> dict[str, str]:
    request = AWSRequest(asked.method, f"https://{asked.host}{asked.target}", headers=asked.headers, data=asked.body)
    credentials = Credentials(keys.id, keys.secret, keys.session_token)
    botocore.auth.SigV4Auth(credentials, "svc", "eu-1").add_auth(request)
    return {name.lower(): value for name, value in request.headers.items() if name.lower() not in asked.headers}


async def theirs(url: str) -> list[dict[str, Any]]:
    """The events that Anthropic's client for Bedrock reads there; an error is the last of them."""
    client = anthropic.AsyncAnthropicBedrock(
        base_url=url,
        aws_region="us-east-1",
        max_retries=0,
        aws_access_key=KEYS["access_key_id"],
        aws_secret_key=KEYS["secret_access_key"],
        aws_session_token=KEYS["session_token"],
    )
    events: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(60), client:
            messages: Any = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
            stream = await client.messages.create(model=MODEL, max_tokens=10, messages=messages, stream=True)
            events += [event.to_dict() async for event in stream]
    except anthropic.APIError as error:
        events.append({"type": "error", "name": type(error).__name__})
    return events


TARGETS = [
    "/",
    "/v1/messages",
    f"/model/{MODEL}/invoke-with-response-stream",
    "/model/arn:aws:bedrock:us-east-1:1:inference-profile%2Fx/invoke",
    "/model/arn%3Aaws%3Abedrock%2Fx/invoke",
    "/a/b/../c/./d/",
    "/~tilde/%20space",
    "/q?b=2&a=1&a=0&c=",
]


@pytest.mark.parametrize("token", [None, "session/token=="])
def test_botocore_signs_as_we_do(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: MOMENT)
    keys = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    for number, target in enumerate(TARGETS):
        headers = {"content-type": "application/json"} if number % 2 else {}
        asked = OutgoingRequest("POST", "h.test:8443", target, headers, ('{"text": "Grüße"}' * number).encode())

        assert sign(asked, keys, "eu-1", "svc", MOMENT) == signed_by_botocore(asked, keys), target


def said_by(events: list[dict[str, Any]]) -> Said:
    said, ids, read = Said(), dict[int, str](), [0, 0, 0]
    for event in events:
        match event:
            case {"type": "message_start", "message": {"usage": usage}}:
                names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
                read = [usage.get(name) or 0 for name in names]
            case {"type": "content_block_start", "index": index, "content_block": {"type": "tool_use"} as block}:
                ids[index] = block["id"]
                said.calls[block["id"]] = [block["name"], ""]
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}:
                said.text += text
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": text}}:
                said.thoughts += text
            case {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta"} as delta}:
                said.calls[ids[index]][1] += delta["partial_json"]
            case {"type": "message_delta", "usage": usage}:
                said.usage = (sum(read), usage["output_tokens"], read[2], read[1], 0)
    return said


async def test_anthropics_client_reads_what_we_read_and_asks_as_we_ask() -> None:
    for name in CHUNKS:
        async with model_of(framed(name), **RUNTIME, client_models=("*",), max_tokens=10) as (model, server):
            its = said_by(await theirs(server.url))
            mine = await ours(model)

        mine.reason = None
        assert mine == its, name
        first, asked = server.requests
        assert first.line == f"POST /model/{MODEL}/invoke-with-response-stream HTTP/1.1"
        assert asked.json == first.json
        assert_signed(asked, "bedrock")


@pytest.mark.parametrize("kind", ["throttlingException", "modelStreamErrorException", "validationException"])
async def test_what_is_an_error_to_anthropics_client_is_one_to_us(kind: str) -> None:
    async with model_of(once(answered(START, exception(kind, "No"))), **RUNTIME) as (model, server):
        events = await theirs(server.url)
        with pytest.raises(ModelError):
            await ours(model)

    assert events[-1]["type"] == "error"
