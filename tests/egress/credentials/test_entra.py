"""Microsoft Entra ID: the real azure-identity, servers that give it tokens, and models on Azure that take them."""

import asyncio
import json
import os
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from click.testing import CliRunner

from rightseat import config
from rightseat.cli import main
from rightseat.cli.certificate import Certificate
from rightseat.core.errors import ConfigError, ModelError, ModelRefusedKey, ModelUnreachable
from rightseat.core.messages import user
from rightseat.core.model import Prompt, TextChunk
from rightseat.installation import install_command
from rightseat.models.anthropic import Anthropic
from rightseat.models.openai import OpenAI
from tests.egress.credentials.granting import giving, numbered, token
from tests.models.recorded import played, recording, refusal
from tests.tcp import Request, Script, Server, Visit, playing

SECRET = "canary~secret-of-the-application"
PROMPT = Prompt((user("Hi"),))
TEXT = recording("text")
SCOPE = "https://cognitiveservices.azure.com/.default"


def taking(*tokens: str, answer: bytes = TEXT) -> Script:
    """A model's server that takes these tokens, and says 401 to others."""

    async def script(visit: Visit) -> None:
        while True:
            sent = (await visit.request()).header("authorization") or ""
            known = sent.removeprefix("Bearer ") in tokens
            await visit.send(answer if known else refusal("401 x", json.dumps({"error": {"message": f"No: {sent}"}})))

    return script


def login(respond: Callable[[Request], bytes]) -> Script:
    """Entra ID: says where its endpoints are, and gives tokens at one of them."""

    async def script(visit: Visit) -> None:
        while True:
            request = await visit.request()
            method, path, _ = request.line.split()
            if method == "POST":
                await visit.send(respond(request))
                continue
            visit.server.requests.pop()  # only tokens count
            root = f"https://{request.header('host')}/{path.split('/')[1]}"
            found = {"issuer": f"{root}/v2.0", "authorization_endpoint": f"{root}/oauth2/v2.0/authorize"}
            found["token_endpoint"] = f"{root}/oauth2/v2.0/token"
            await visit.send(refusal("200 OK", json.dumps(found)))

    return script


Azure = Callable[..., Any]


@pytest.fixture
def azure(bare: pytest.MonkeyPatch, certificate: Certificate) -> Azure:
    """A model, its server, and the server that gives it tokens. `entra` is what the model is told."""
    bare.setenv("REQUESTS_CA_BUNDLE", str(certificate.certificate))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate.certificate, certificate.key)

    @asynccontextmanager
    async def started(
        model: Script, respond: Callable[[Request], bytes], **entra: Any
    ) -> AsyncIterator[tuple[OpenAI, Server, Server]]:
        async with playing(model) as served, playing(login(respond), tls) as gives:
            given = {"tenant": "our-tenant", "client_id": "app", "client_secret": SECRET, "authority": gives.url}
            named = {name: value for name, value in (given | entra).items() if value is not None}
            async with asyncio.timeout(60), OpenAI("gpt", base_url=served.url, entra=named) as asked:
                yield asked, served, gives

    return started


async def say(model: OpenAI | Anthropic) -> str:
    return "".join([chunk.text async for chunk in model.stream(PROMPT) if isinstance(chunk, TextChunk)])


async def test_a_client_secret_is_exchanged_for_a_token_that_every_request_carries(azure: Azure) -> None:
    async with azure(taking("token-1"), numbered()) as (model, served, gives):
        said = [await say(model) for _ in range(3)]

    (asked,) = gives.requests
    sent = dict(parse_qsl(asked.body.decode()))
    assert len(set(said)) == 1
    assert said[0]
    assert asked.line == "POST /our-tenant/oauth2/v2.0/token HTTP/1.1"
    assert (sent["grant_type"], sent["client_id"], sent["client_secret"]) == ("client_credentials", "app", SECRET)
    assert SCOPE in sent["scope"].split()
    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1"] * 3


async def test_embedding_requests_carry_the_token_too(azure: Azure) -> None:
    body = json.dumps({"data": [{"index": 0, "embedding": [0.5]}]})
    model = taking("token-1", answer=refusal("200 OK", body))
    async with azure(model, numbered()) as (asked, _, _):
        made = await asked.embed(["Hi"])

    assert made.vectors == [[0.5]]


async def test_a_refused_token_is_renewed_once_and_the_request_retried(
    azure: Azure, caplog: pytest.LogCaptureFixture
) -> None:
    async with azure(taking("token-2"), numbered()) as (model, served, gives):
        said = await say(model)

    assert said
    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1", "Bearer token-2"]
    assert served.requests[0].body == served.requests[1].body
    assert len(gives.requests) == 2
    assert "is sent again with new credentials" in caplog.text
    assert "token-1" not in caplog.text


async def test_concurrent_requests_with_a_refused_token_share_one_renewal(azure: Azure) -> None:
    async with azure(taking("token-2"), numbered()) as (model, _, gives):
        said = await asyncio.gather(*(say(model) for _ in range(20)))

    assert all(said)
    assert len(gives.requests) == 2


async def test_a_server_that_refuses_every_token_gets_one_retry_and_then_none(
    azure: Azure, caplog: pytest.LogCaptureFixture
) -> None:
    async with azure(taking(), numbered()) as (model, served, gives):
        for _ in range(2):
            with pytest.raises(ModelRefusedKey, match=r"returned HTTP 401: it does not accept the credentials"):
                await say(model)

    assert (len(served.requests), len(gives.requests)) == (3, 2)
    assert "token-" not in caplog.text


async def test_an_expired_token_is_renewed_before_the_request(azure: Azure) -> None:
    async with azure(taking("token-1", "token-2"), numbered(lasts=5)) as (model, served, _):
        for _ in range(2):
            await say(model)

    assert [request.header("authorization") for request in served.requests] == ["Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize(
    ("status", "error", "kind", "said"),
    [
        ("401 x", "invalid_client", ModelRefusedKey, r"\(AADSTS7000215\)\. Check `tenant`, `client_id`, `scope` and"),
        ("400 x", "something_new", ModelRefusedKey, "`client_secret` of `entra`: a secret may have expired"),
        ("503 x", "temporarily_unavailable", ModelUnreachable, "it cannot be reached, or it failed"),
    ],
)
async def test_a_refusal_of_the_token_endpoint_is_reported_with_what_to_check(
    azure: Azure, status: str, error: str, kind: type[ModelError], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    words = f"AADSTS7000215: Invalid client secret {SECRET}.\r\nTrace ID: 1"
    answer = refusal(status, json.dumps({"error": error, "error_description": words}))
    async with azure(taking("x"), lambda _: answer) as (model, served, _):
        with pytest.raises(kind, match=said) as wrong:
            await say(model)

    ours = [record.getMessage() for record in caplog.records if record.name.startswith("rightseat.")]
    assert served.requests == []
    assert "Invalid client" not in wrong.value.message
    assert "No token of Entra ID: ClientAuthenticationError: Authentication failed" in ours[0]
    assert SECRET not in "".join(ours)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<html>", "issued no token for the model"),
        ("{}", "issued no token for the model"),
        ("[]", "issued no token for the model"),
        ('{"access_token": "", "expires_in": 3599}', "sent no valid token"),
        ('{"access_token": "a\\nb: c", "expires_in": 3599}', "sent no valid token"),
    ],
)
async def test_an_invalid_token_is_not_sent(azure: Azure, body: str, said: str) -> None:
    async with azure(taking("x"), lambda _: refusal("200 OK", body)) as (model, served, _):
        with pytest.raises(ModelError, match=f"Microsoft Entra ID {said}"):
            await say(model)

    assert served.requests == []


async def test_an_unreachable_token_endpoint_is_named(azure: Azure, caplog: pytest.LogCaptureFixture) -> None:
    async with azure(taking("x"), numbered(), authority="https://127.0.0.1:1") as (model, _, _):
        with pytest.raises(ModelUnreachable, match="it cannot be reached, or it failed") as wrong:
            await say(model)

    assert "127.0.0.1" not in wrong.value.message
    assert "host='127.0.0.1', port=1" in caplog.text


def managed(request: Request) -> bytes:
    """What Azure has for a virtual machine, and for an app: they differ in the header that they want."""
    path = request.line.split()[1]
    if path.startswith("/metadata/identity/oauth2/token?api-version=2018-02-01"):
        assert request.header("metadata") == "true"
    else:
        assert path.startswith("/msi/token?api-version=2019-08-01")
        assert request.header("x-identity-header") == "header-of-the-app"
    assert "resource=https://cognitiveservices.azure.com" in path
    assert "client_id=mine" in path
    given = {"access_token": "token-1", "expires_on": str(int(time.time()) + 86400), "expires_in": "86399"}
    return refusal("200 OK", json.dumps(given | {"resource": "x", "token_type": "Bearer", "client_id": "mine"}))


@pytest.mark.parametrize("entra", [{"credential": "managed_identity", "client_id": "mine"}, {"client_id": "mine"}])
@pytest.mark.parametrize("place", ["machine", "app"])
async def test_a_managed_identity_needs_no_secret(bare: pytest.MonkeyPatch, place: str, entra: dict[str, str]) -> None:
    async with playing(taking("token-1")) as served, playing(giving(managed)) as machine:
        if place == "machine":
            bare.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", machine.url)
        else:
            bare.setenv("IDENTITY_ENDPOINT", f"{machine.url}/msi/token")
            bare.setenv("IDENTITY_HEADER", "header-of-the-app")
        async with asyncio.timeout(60), OpenAI("gpt", base_url=served.url, entra=entra) as model:
            said = await say(model)

    assert said


@pytest.mark.parametrize("entra", [{"credential": "workload_identity"}, {}], ids=["named", "found"])
async def test_an_aks_pod_sends_the_current_token_of_its_file(
    azure: Azure, bare: pytest.MonkeyPatch, tmp_path: Path, entra: dict[str, str]
) -> None:
    file = tmp_path / "azure-identity-token"

    def respond(request: Request) -> bytes:
        sent = dict(parse_qsl(request.body.decode()))
        assert request.line == "POST /our-tenant/oauth2/v2.0/token HTTP/1.1"
        assert (sent["grant_type"], sent["client_id"], sent["scope"]) == ("client_credentials", "pod", SCOPE)
        return token(f"token-for-{sent['client_assertion']}", 5)

    model = taking("token-for-pod-1", "token-for-pod-2")
    nothing = {"tenant": None, "client_id": None, "client_secret": None, "authority": None}
    async with azure(model, respond, **nothing, **entra) as (asked, served, gives):
        bare.setenv("AZURE_AUTHORITY_HOST", gives.url)
        bare.setenv("AZURE_TENANT_ID", "our-tenant")
        bare.setenv("AZURE_CLIENT_ID", "pod")
        bare.setenv("AZURE_FEDERATED_TOKEN_FILE", str(file))
        for number in (1, 2):
            await asyncio.to_thread(file.write_text, f"pod-{number}")
            await say(asked)

    sent = [request.header("authorization") for request in served.requests]
    assert sent == ["Bearer token-for-pod-1", "Bearer token-for-pod-2"]


async def test_an_application_can_be_set_by_environment_variables(azure: Azure, bare: pytest.MonkeyPatch) -> None:
    nothing = {"tenant": None, "client_id": None, "client_secret": None}
    async with azure(taking("token-1"), numbered(), **nothing, credential="environment") as (model, _, gives):
        bare.setenv("AZURE_TENANT_ID", "our-tenant")
        bare.setenv("AZURE_CLIENT_ID", "app")
        bare.setenv("AZURE_CLIENT_SECRET", SECRET)
        said = await say(model)

    assert said
    assert dict(parse_qsl(gives.requests[0].body.decode()))["client_secret"] == SECRET


AZ = """#!/bin/sh
echo "$@" > asked
echo '{{"accessToken": "token-1", "expires_on": {end}, "tokenType": "Bearer"}}'
"""


async def test_the_session_of_the_azure_cli_provides_a_token(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "az"
    await asyncio.to_thread(
        program.write_text, AZ.format(end=int(time.time()) + 3600).replace("asked", str(tmp_path / "asked"))
    )
    program.chmod(0o700)
    bare.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    async with playing(taking("token-1")) as served:
        entra = {"credential": "cli", "tenant": "our-tenant"}
        async with asyncio.timeout(60), OpenAI("gpt", base_url=served.url, entra=entra) as model:
            said = await say(model)

    assert said
    assert "account get-access-token" in (tmp_path / "asked").read_text()


@pytest.mark.parametrize(
    ("entra", "environ", "said"),
    [
        ({"credential": "managed_identity"}, {}, "Check that the machine, app or container has a managed identity"),
        ({"credential": "workload_identity"}, {}, r"the label azure\.workload\.identity/use"),
        (
            {"credential": "workload_identity", "tenant": "t", "client_id": "c"},
            {"AZURE_FEDERATED_TOKEN_FILE": "/nowhere"},
            r"the label azure\.workload\.identity/use",
        ),
        ({"credential": "environment"}, {}, "Check AZURE_TENANT_ID, AZURE_CLIENT_ID, and AZURE_CLIENT_SECRET"),
        ({"credential": "cli"}, {"PATH": "/nowhere"}, "Run `az login`"),
        ({}, {"PATH": "/nowhere"}, "Assign a managed or workload identity, set AZURE_TENANT_ID"),
    ],
    ids=["machine", "pod", "file", "environment", "cli", "all"],
)
async def test_without_credentials_the_error_names_the_cure(
    bare: pytest.MonkeyPatch, entra: dict[str, str], environ: dict[str, str], said: str
) -> None:
    for name, value in ({"AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1"} | environ).items():
        bare.setenv(name, value)
    async with asyncio.timeout(60), OpenAI("gpt", base_url="http://127.0.0.1:1", entra=entra) as model:
        with pytest.raises(ModelRefusedKey, match=said):
            await say(model)


async def test_claude_on_foundry_receives_the_token_as_bearer(bare: pytest.MonkeyPatch) -> None:
    async with (
        playing(taking("token-1", answer=played("anthropic", "text"))) as served,
        playing(giving(managed)) as machine,
    ):
        bare.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", machine.url)
        entra = {"credential": "managed_identity", "client_id": "mine"}
        async with Anthropic("claude", platform="foundry", base_url=served.url, entra=entra) as model:
            said = await say(model)

    assert said.startswith("Hello")
    assert served.requests[0].header("x-api-key") is None


@pytest.mark.parametrize(
    ("entra", "said"),
    [
        ("{client_secret: s}", "`client_secret` needs `tenant` and `client_id`"),
        ("{client_secret: s, tenant: t, client_id: c, credential: cli}", "set either `client_secret` or `credential`"),
        ("{tenant: t, client_id: c}", "`entra` without a `client_secret` does not use `tenant`"),
        ("{credential: managed_identity, tenant: t}", "`credential: managed_identity` does not use `tenant`"),
        ("{credential: cli, client_id: c, authority: 'https://x'}", "does not use `client_id` and `authority`"),
        ("{credential: workload_identity, tenant: '../x'}", "tenant"),
        ("{authority: 'http://x'}", "`authority` must begin with https://"),
    ],
)
def test_conflicting_entra_options_are_refused_by_the_configuration(entra: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config.parse(f"models: {{default: {{type: openai, model: m, base_url: 'http://x', entra: {entra}}}}}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{type: openai, model: m, base_url: 'http://x', api_key: k, entra: {}}", "exclude each other; remove one"),
        ("{type: openai, model: m, entra: {}}", "set `base_url` to the Azure address"),
        ("{type: anthropic, model: m, entra: {}}", "`entra` is for the platform foundry"),
    ],
)
def test_entra_for_a_provider_without_it_is_refused_by_the_configuration(options: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config.parse(f"models: {{default: {options}}}")


def test_an_authorization_header_beside_entra_is_refused() -> None:
    with pytest.raises(ConfigError, match="Remove `authorization` from `headers`"):
        OpenAI("m", base_url="http://x", entra={}, headers={"Authorization": "Bearer x"})


def test_check_names_the_missing_azure_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    file = tmp_path / "rightseat.yaml"
    file.write_text("models: {default: {type: openai, model: m, base_url: 'http://x', entra: {}}}\n")

    checked = CliRunner().invoke(main, ["check", "--config", str(file)])

    assert checked.exit_code == 1
    assert install_command("azure") in checked.output


@pytest.mark.parametrize(
    ("options", "lacking"),
    [
        ({"platform": "foundry", "resource": "r"}, "`api_key` or `entra`"),
        ({"platform": "bedrock", "region": "r"}, "`api_key` or `aws`"),
        ({"platform": "bedrock-runtime", "region": "r"}, "`api_key` or `aws`"),
    ],
)
def test_a_cloud_without_credentials_is_refused_when_the_model_is_built(options: dict[str, Any], lacking: str) -> None:
    with pytest.raises(ConfigError, match=f"needs {lacking}"):
        Anthropic("m", **options)
    for elsewhere in ({"headers": {"Authorization": "Bearer mine"}}, {"base_url": "http://relay"}):
        Anthropic("m", **options, **elsewhere)
