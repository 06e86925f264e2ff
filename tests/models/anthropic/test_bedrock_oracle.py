"""Our signatures and our reading of AWS's frames, held against botocore and Anthropic's client for Bedrock.

They need a python-dateutil that conflicts with ours, so they run in an environment of their own.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from rightseat.core.errors import ModelError
from rightseat.egress.credentials.sigv4 import Keys, sign
from rightseat.egress.http import Asked
from tests.models.anthropic.framing import answered, framed
from tests.models.anthropic.test_bedrock import KEYS, MODEL, RUNTIME, START, assert_signed
from tests.models.anthropic.test_oracle import Said, ours
from tests.models.anthropic.test_reading import CHUNKS, model_of
from tests.models.recorded import once
from tests.servers.installing import install
from tests.servers.running import PROGRAMS
from tests.wire.test_eventstream import exception

pytestmark = pytest.mark.servers

MOMENT = datetime(2026, 11, 15, 12, 0, 1, tzinfo=UTC)


class Oracle:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, **what: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        line = await self._process.stdout.readline()
        assert line, "the oracle has ended"
        return json.loads(line)


@pytest.fixture
async def oracle() -> AsyncIterator[Oracle]:
    python = await asyncio.to_thread(install, "bedrock")
    process = await asyncio.create_subprocess_exec(
        *(python, PROGRAMS / "bedrock_oracle.py"),
        env={"PATH": "", "HOME": "/nowhere"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**22,
    )
    try:
        yield Oracle(process)
    finally:
        process.kill()
        await process.wait()


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
async def test_botocore_signs_as_we_do(oracle: Oracle, token: str | None) -> None:
    keys = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    for number, target in enumerate(TARGETS):
        body = '{"text": "Grüße"}' * number
        headers = {"content-type": "application/json"} if number % 2 else {}
        mine = sign(Asked("POST", "h.test:8443", target, headers, body.encode()), Keys(*keys), "eu-1", "svc", MOMENT)
        its = await oracle.ask(
            sign={
                "method": "POST",
                "url": f"https://h.test:8443{target}",
                "headers": headers,
                "body": body,
                "keys": keys,
                "region": "eu-1",
                "service": "svc",
                "now": MOMENT.isoformat(),
            }
        )

        assert mine == its, target


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
                said.usage = (sum(read), usage["output_tokens"], read[2], read[1])
    return said


async def test_anthropics_client_reads_what_we_read_and_asks_as_we_ask(oracle: Oracle) -> None:
    for name in CHUNKS:
        async with model_of(framed(name), **RUNTIME, client_models=("*",), max_tokens=10) as (model, server):
            its = said_by(await oracle.ask(ask=server.url))
            mine = await ours(model)

        mine.reason = None
        assert mine == its, name
        theirs, asked = server.requests
        assert theirs.line == f"POST /model/{MODEL}/invoke-with-response-stream HTTP/1.1"
        assert asked.json == theirs.json
        assert_signed(asked, "bedrock")


@pytest.mark.parametrize("kind", ["throttlingException", "modelStreamErrorException", "validationException"])
async def test_what_is_an_error_to_anthropics_client_is_one_to_us(oracle: Oracle, kind: str) -> None:
    async with model_of(once(answered(START, exception(kind, "No"))), **RUNTIME) as (model, server):
        events = await oracle.ask(ask=server.url)
        with pytest.raises(ModelError):
            await ours(model)

    assert events[-1]["type"] == "error"


def test_the_oracle_has_the_same_keys() -> None:
    text = (PROGRAMS / "bedrock_oracle.py").read_text()

    assert all(f'"{value}"' in text for value in KEYS.values())
