"""Microsoft Entra ID: an endpoint that gives tokens, and models on Azure that take them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import config
from rightseat.core.errors import ConfigError, ModelError, ModelRefusedKey, ModelUnreachable
from rightseat.core.messages import user
from rightseat.core.model import Prompt, TextChunk
from rightseat.models.anthropic import Anthropic
from rightseat.models.openai import OpenAI
from tests.egress.credentials.granting import form, giving, numbered, token
from tests.models.recorded import played, recording, refusal
from tests.tcp import Request, Script, Server, Visit, playing

SECRET = "canary~secret-of-the-application"
PROMPT = Prompt((user("Hi"),))
TEXT = recording("text")


def taking(*tokens: str, answer: bytes = TEXT) -> Script:
    """A model's server that takes these tokens, and says 401 to others."""

    async def script(visit: Visit) -> None:
        while True:
            sent = (await visit.request()).header("authorization") or ""
            known = sent.removeprefix("Bearer ") in tokens
            await visit.send(answer if known else refusal("401 x", json.dumps({"error": {"message": f"No: {sent}"}})))

    return script


@asynccontextmanager
async def azure(model: Script, entra: Script, **options: Any) -> AsyncIterator[tuple[OpenAI, Server, Server]]:
    async with playing(model) as served, playing(entra) as login:
        given = {"tenant": "our-tenant", "client_id": "app", "client_secret": SECRET, "authority": login.url}
        async with asyncio.timeout(20), OpenAI("gpt", base_url=served.url, entra=given | options) as asked:
            yield asked, served, login


async def say(model: OpenAI | Anthropic) -> str:
    return "".join([chunk.text async for chunk in model.stream(PROMPT) if isinstance(chunk, TextChunk)])


async def test_a_token_is_asked_for_with_the_secret_and_sent_with_every_request() -> None:
    async with azure(taking("token-1"), giving(numbered())) as (model, served, login):
        said = [await say(model) for _ in range(3)]

    (asked,) = login.requests
    assert len(set(said)) == 1
    assert said[0]
    assert asked.line == "POST /our-tenant/oauth2/v2.0/token HTTP/1.1"
    assert form(asked) == {
        "grant_type": "client_credentials",
        "client_id": "app",
        "client_secret": SECRET,
        "scope": "https://cognitiveservices.azure.com/.default",
    }
    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1"] * 3


async def test_embeddings_are_asked_for_with_it_too() -> None:
    body = json.dumps({"data": [{"index": 0, "embedding": [0.5]}]})
    model = taking("token-1", answer=refusal("200 OK", body))
    async with azure(model, giving(numbered())) as (asked, _, _):
        made = await asked.embed(["Hi"])

    assert made.vectors == [[0.5]]


async def test_a_token_that_the_server_refuses_is_replaced_once_and_the_request_sent_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with azure(taking("token-2"), giving(numbered())) as (model, served, login):
        said = await say(model)

    assert said
    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1", "Bearer token-2"]
    assert served.requests[0].body == served.requests[1].body
    assert len(login.requests) == 2
    assert "asked again with a new token" in caplog.text
    assert "token-1" not in caplog.text


async def test_many_requests_whose_token_is_refused_have_one_renewal() -> None:
    async with azure(taking("token-2"), giving(numbered())) as (model, _, login):
        said = await asyncio.gather(*(say(model) for _ in range(20)))

    assert all(said)
    assert len(login.requests) == 2


async def test_a_server_that_refuses_every_token_is_asked_twice_and_then_once(caplog: pytest.LogCaptureFixture) -> None:
    async with azure(taking(), giving(numbered())) as (model, served, login):
        for _ in range(2):
            with pytest.raises(ModelRefusedKey, match=r"does not accept our key \(HTTP 401\)"):
                await say(model)

    assert (len(served.requests), len(login.requests)) == (3, 2)
    assert "token-" not in caplog.text


async def test_a_token_that_has_ended_is_replaced_before_it_is_sent() -> None:
    async with azure(taking("token-1", "token-2"), giving(numbered(lasts="5"))) as (model, served, _):
        for _ in range(2):
            await say(model)

    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize(
    ("status", "error", "kind", "said"),
    [
        ("401 x", "invalid_client", ModelRefusedKey, r"\(HTTP 401, invalid_client\). Check `client_secret`, which may"),
        ("400 x", "unauthorized_client", ModelRefusedKey, "Check `client_id` and `tenant` of `entra`"),
        ("400 x", "invalid_scope", ModelRefusedKey, "Check `scope` of `entra`"),
        ("400 x", "something_new", ModelRefusedKey, "Check `tenant`, `client_id`, `client_secret` and `scope`"),
        ("503 x", "temporarily_unavailable", ModelUnreachable, r"no token right now \(HTTP 503\)"),
        ("429 x", "", ModelUnreachable, r"no token right now \(HTTP 429\)"),
    ],
)
async def test_an_endpoint_that_gives_none_is_told_with_what_to_check(
    status: str, error: str, kind: type[ModelError], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    words = f"AADSTS7000215: Invalid client secret {SECRET}.\r\nTrace ID: 1"
    answer = refusal(status, json.dumps({"error": error, "error_description": words}))
    async with azure(taking("x"), giving(lambda _: answer)) as (model, served, _):
        with caplog.at_level(logging.DEBUG), pytest.raises(kind, match=said) as wrong:
            await say(model)

    assert served.requests == []
    assert "AADSTS" not in wrong.value.message
    assert "Invalid client secret [key]. Trace ID: 1" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("body", ["<html>", "{}", '{"access_token": ""}', '{"access_token": "a\\nb: c"}', "[]"])
async def test_what_is_no_token_is_not_sent(body: str) -> None:
    async with azure(taking("x"), giving(lambda _: refusal("200 OK", body))) as (model, served, _):
        with pytest.raises(ModelUnreachable, match="something else than a token"):
            await say(model)

    assert served.requests == []


async def test_an_endpoint_that_cannot_be_reached_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async with azure(taking("x"), giving(numbered()), authority="http://127.0.0.1:1") as (model, _, _):
        with pytest.raises(ModelUnreachable, match="Microsoft Entra ID cannot be reached for a token") as wrong:
            await say(model)

    assert "127.0.0.1" not in wrong.value.message
    assert (
        "http://127.0.0.1:1/our-tenant/oauth2/v2.0/token gives no token: 127.0.0.1 takes no connection" in caplog.text
    )


async def test_a_machine_with_an_identity_needs_no_secret() -> None:
    def respond(request: Request) -> bytes:
        assert request.header("metadata") == "true"
        return token("token-1", "86399")

    async with playing(taking("token-1")) as served, playing(giving(respond)) as machine:
        entra = {"managed": True, "client_id": "mine", "authority": machine.url}
        async with OpenAI("gpt", base_url=served.url, entra=entra) as model:
            said = await say(model)

    assert said
    assert machine.requests[0].line == (
        "GET /metadata/identity/oauth2/token?api-version=2018-02-01"
        "&resource=https%3A%2F%2Fcognitiveservices.azure.com&client_id=mine HTTP/1.1"
    )


async def test_claude_on_foundry_takes_tokens_as_a_bearer() -> None:
    answer = played("anthropic", "text")
    async with playing(taking("token-1", answer=answer)) as served, playing(giving(numbered())) as login:
        entra = {"tenant": "t", "client_id": "app", "client_secret": SECRET, "authority": login.url}
        async with Anthropic("claude", platform="foundry", base_url=served.url, entra=entra) as model:
            said = await say(model)

    assert said.startswith("Hello")
    assert served.requests[0].header("x-api-key") is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{type: openai, model: m, base_url: 'http://x', entra: {}}", "Entra ID needs `tenant`, `client_id`, `client_"),
        (
            "{type: openai, model: m, base_url: 'http://x', entra: {tenant: t, client_id: c}}",
            "needs `client_secret`, or",
        ),
        ("{type: openai, model: m, base_url: 'http://x', entra: {managed: true, tenant: t}}", "has no `tenant`"),
        ("{type: openai, model: m, base_url: 'http://x', api_key: k, entra: {managed: true}}", "one of them is meant"),
        ("{type: openai, model: m, entra: {managed: true}}", "needs its address as `base_url`"),
        ("{type: openai, model: m, base_url: 'http://x', entra: {managed: true, tenant: '../x'}}", "tenant"),
        ("{type: anthropic, model: m, entra: {managed: true}}", "`entra` is for the platform foundry"),
    ],
)
def test_what_does_not_go_together_is_refused_by_the_configuration(options: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config.parse(f"models: {{default: {options}}}")


def test_a_header_that_would_come_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="take it out of `headers`"):
        OpenAI("m", base_url="http://x", entra={"managed": True}, headers={"Authorization": "Bearer x"})


@pytest.mark.parametrize(
    ("options", "lacking"),
    [
        ({"platform": "foundry", "resource": "r"}, "`api_key` or `entra`"),
        ({"platform": "bedrock", "region": "r"}, "`api_key` or `aws`"),
        ({"platform": "bedrock-runtime", "region": "r"}, "`api_key` or `aws`"),
    ],
)
def test_a_cloud_that_would_get_nothing_is_refused_when_the_model_is_built(
    options: dict[str, Any], lacking: str
) -> None:
    with pytest.raises(ConfigError, match=f"needs {lacking}"):
        Anthropic("m", **options)
    for elsewhere in ({"headers": {"Authorization": "Bearer mine"}}, {"base_url": "http://relay"}):
        Anthropic("m", **options, **elsewhere)
