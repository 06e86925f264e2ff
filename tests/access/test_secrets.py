"""Secrets of the configuration come out nowhere: not in the log, in answers, in errors or in what is printed."""

import io
import json
import logging
from pathlib import Path

import httpx2
import pytest

from rightseat import app, config
from rightseat.cli.summary import summarize
from rightseat.config.schema import read_schema
from rightseat.core.errors import ConfigError
from rightseat.health.warnings import warnings
from tests.access.credentials import AUDIENCE, ISSUER, RSA, jwks
from tests.conftest import Serve

BACKENDS = ("llama_cpp", "vllm")
MODELS = (*BACKENDS, "claude", "gemini", "chain", "azure", "foundry", "signed")
AGENTS = ("agui", "remote", "graph")

CANARIES = {
    name: f"canary-{name}-6b1f"
    for name in (
        *("MODEL", "HEADER", "ALICE", "BOB", "HEARING", "LISTENING", "SIGNING", "DATABASE", "BOUND"),
        *("CLAUDE", "GEMINI", "CHAIN", "BETA", "GUARD", "VECTORS"),
        *("AZURE", "FOUNDRY", "AWS", "SESSION"),
        *("AGUI", "REMOTE", "GRAPH", "PLATFORM", "ACTIONS", "MCP", "PROGRAM"),
        *("PROXY", "SIGN_IN", "HOOK", "HOOK_KEY"),
        *BACKENDS,
    )
}

PLUGINS = Path(__file__).parent.parent.parent / "examples" / "plugins"

TEXT = """
models:
  default:
    type: openai
    model: m
    base_url: http://127.0.0.1:1/v1
    api_key: ${{MODEL}}
    headers: {{x-app: "${{HEADER}}"}}
    proxy: "http://me:${{PROXY}}@127.0.0.1:1"
  llama_cpp:
    type: completion
    backend: {{url: "http://127.0.0.1:1", api_key: "${{llama_cpp}}", proxy: "http://me:${{PROXY}}@127.0.0.1:1"}}
    embeddings: {{url: "http://127.0.0.1:1", api_key: "${{VECTORS}}", proxy: "http://me:${{PROXY}}@127.0.0.1:1"}}
  vllm: {{type: completion, backend: {{type: vllm, url: "http://127.0.0.1:1", model: m, api_key: "${{vllm}}"}}}}
  claude:
    type: anthropic
    model: m
    base_url: http://127.0.0.1:1
    api_key: ${{CLAUDE}}
    proxy: "http://me:${{PROXY}}@127.0.0.1:1"
    headers: {{anthropic-beta: "${{BETA}}"}}
  gemini:
    type: google
    model: m
    base_url: http://127.0.0.1:1
    api_key: ${{GEMINI}}
    headers: {{x-app: "${{BETA}}"}}
  chain:
    type: langchain
    model: openai:m
    api_key: ${{CHAIN}}
    arguments: {{base_url: "http://127.0.0.1:1", max_retries: 0}}
  azure:
    type: openai
    model: m
    base_url: http://127.0.0.1:1
    entra: {{tenant: t, client_id: c, client_secret: "${{AZURE}}", authority: "https://127.0.0.1:1"}}
  foundry:
    type: anthropic
    model: m
    platform: foundry
    base_url: http://127.0.0.1:1
    entra: {{tenant: t, client_id: c, client_secret: "${{FOUNDRY}}", authority: "https://127.0.0.1:1"}}
  signed:
    type: anthropic
    model: m
    platform: bedrock-runtime
    region: r
    base_url: http://127.0.0.1:1
    aws: {{access_key_id: a, secret_access_key: "${{AWS}}", session_token: "${{SESSION}}"}}
toolboxes:
  actions: {{type: copilotkit, url: "http://127.0.0.1:1", headers: {{x-app: "${{ACTIONS}}"}}}}
  mcp:
    type: mcp
    name: tools
    url: http://127.0.0.1:1/mcp
    headers: {{x-app: "${{MCP}}"}}
    proxy: "http://me:${{PROXY}}@127.0.0.1:1"
  flows:
    type: plugins
    folders: ["{plugins}"]
    proxy: "http://me:${{PROXY}}@127.0.0.1:1"
    databases: {{sales_insight: {{sales: {{url: "postgresql://me:${{BOUND}}@127.0.0.1:1/x"}}}}}}
  program: {{type: mcp, command: /nowhere/at/all, env: {{KEY: "${{PROGRAM}}"}}}}
agents:
  default: {{type: loop, toolboxes: [actions, mcp, program]}}
  agui:
    type: agui
    url: http://127.0.0.1:1
    headers: {{x-app: "${{AGUI}}"}}
    proxy: "http://me:${{PROXY}}@127.0.0.1:1"
  remote: {{type: copilotkit, url: "http://127.0.0.1:1", agent: a, headers: {{x-app: "${{REMOTE}}"}}}}
  graph:
    type: langgraph
    url: http://127.0.0.1:1
    api_key: ${{PLATFORM}}
    headers: {{x-app: "${{GRAPH}}"}}
guards:
  - {{type: copilotkit, url: "http://127.0.0.1:1", api_key: "${{GUARD}}"}}
log: {{type: memory}}
threads: {{type: memory}}
access:
  keys:
    - {{name: alice, key: "${{ALICE}}"}}
    - {{name: bob, key: "${{BOB}}", scopes: ["nowhere:*"]}}
  jwt: {{issuer: "{issuer}", audience: "{audience}", jwks: "{jwks}"}}
  oidc:
    issuer: https://127.0.0.1:1
    client_id: c
    client_secret: "${{SIGN_IN}}"
    proxy: "http://me:${{PROXY}}@127.0.0.1:1"
    grants: [{{scopes: ["*"]}}]
server: {{public_url: "http://localhost:8000"}}
limits_webhook:
  url: "http://127.0.0.1:1/${{HOOK}}"
  api_key: "${{HOOK_KEY}}"
  proxy: "http://me:${{PROXY}}@127.0.0.1:1"
faces:
  - {{type: operator}}
  - {{type: console}}
  - {{type: copilotkit, transcription: {{base_url: "http://127.0.0.1:1/v1", api_key: "${{HEARING}}"}}}}
  - {{type: openai, transcription: {{base_url: "http://127.0.0.1:1/v1", api_key: "${{LISTENING}}"}}}}
  - {{type: openbb, secret: "${{SIGNING}}", feedback_file: null}}
"""


PROXIED = (
    *("models.anthropic", "models.google", "models.openai", "models.completion.LlamaCppOptions"),
    *("models.completion.EmbeddingOptions", "models.completion.VllmOptions"),
    *("agents.agui", "agents.copilotkit", "agents.langgraph", "guards.copilotkit"),
    *("toolboxes.copilotkit", "toolboxes.mcp", "toolboxes.plugins", "faces.copilotkit.Options", "faces.openai.Options"),
    *("access.Oidc", "limits_webhook"),
)


def read(folder: Path) -> config.Config:
    file = folder / "jwks.json"
    file.write_text(jwks(RSA))
    text = TEXT.format(issuer=ISSUER, audience=AUDIENCE, jwks=file, plugins=PLUGINS)
    return config.parse(text, Path("rightseat.yaml"), CANARIES)


def assert_clean(text: str) -> None:
    for name, canary in CANARIES.items():
        assert canary not in text, name


def test_every_secret_of_the_configuration_has_a_canary() -> None:
    """A slot that is new fails here until a canary is put into it."""
    whole = json.loads(read_schema())
    slots = {
        f"{key}.{name}"
        for key, options in whole["$defs"].items()
        for name, field in options.get("properties", {}).items()
        if "password" in str(field)
    }

    assert slots == {
        *(f"{kind}.proxy" for kind in PROXIED),
        "models.anthropic.api_key",
        "models.anthropic.headers",
        "models.google.api_key",
        "models.google.headers",
        "models.langchain.api_key",
        "models.openai.api_key",
        "models.openai.headers",
        "models.openai.EntraOptions.client_secret",
        "models.anthropic.EntraOptions.client_secret",
        "models.anthropic.AwsOptions.secret_access_key",
        "models.anthropic.AwsOptions.session_token",
        "models.completion.EmbeddingOptions.api_key",
        "models.completion.LlamaCppOptions.api_key",
        "models.completion.VllmOptions.api_key",
        "agents.agui.headers",
        "agents.copilotkit.headers",
        "agents.langgraph.api_key",
        "agents.langgraph.headers",
        "guards.copilotkit.api_key",
        "toolboxes.copilotkit.headers",
        "toolboxes.mcp.env",
        "toolboxes.mcp.headers",
        "toolboxes.plugins.Binding.url",
        "access.ApiKey.key",
        "access.Oidc.client_secret",
        "limits_webhook.api_key",
        "limits_webhook.url",
        "faces.copilotkit.Options.api_key",
        "faces.openai.Options.api_key",
        "faces.openbb.secret",
        "stores.sql.url",
        "logs.postgres.url",
        "logs.redis.url",
        "engines.dbos.url",
    }


async def test_no_response_and_no_log_line_contains_a_secret(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = read(tmp_path)
    assembly = app.assemble(found)
    application = app.application(assembly, found.server)
    said = io.StringIO()
    with caplog.at_level(logging.DEBUG):
        async with serve(application) as url, httpx2.AsyncClient(base_url=url) as client:
            for key in (CANARIES["ALICE"], CANARIES["BOB"], CANARIES["ALICE"] + "x", "x"):
                for headers in (
                    {"x-api-key": key},
                    {"authorization": f"Bearer {key}"},
                    {"x-api-key": key, "authorization": "Bearer y"},
                ):
                    started = await client.get("/sign-in/start")
                    said.write(f"{started.status_code} {started.headers} {started.text}\n")
                    for path, body in REQUESTS:
                        answer = await client.post(path, json=body, headers=headers)
                        said.write(f"{answer.status_code} {answer.headers} {answer.text}\n")

    assert "200" in said.getvalue()
    assert "401" in said.getvalue()
    assert "rightseat.audit" in {record.name for record in caplog.records}
    assert_clean(said.getvalue())
    assert_clean("\n".join(f"{record.getMessage()} {record.exc_text}" for record in caplog.records if ours(record)))


REQUESTS = [
    ("/copilotkit", {"query": "{ hello }"}),
    ("/copilotkit", {"query": "{ nothing }"}),
    ("/copilotkit", [1]),
    (
        "/copilotkit/agent/default/run",
        {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Hi"}]},
    ),
    ("/copilotkit/transcribe", {"audio": "UklGRg==", "mimeType": "audio/wav"}),
    ("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}),
    ("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": "Hi"}], "stream": True}),
    *(
        ("/v1/chat/completions", {"model": name, "messages": [{"role": "user", "content": "Hi"}]})
        for name in (*MODELS, *AGENTS)
    ),
    ("/v1/embeddings", {"model": "default", "input": "Hi"}),
    ("/v1/audio/transcriptions", {"file": "UklGRg=="}),
]


def ours(record: logging.LogRecord) -> bool:
    """The client that asks in this test logs too, and it is given the keys."""
    return record.name.startswith(("rightseat", "uvicorn"))


def test_no_repr_and_no_summary_contains_a_secret(tmp_path: Path) -> None:
    found = read(tmp_path)
    assembly = app.assemble(found)

    assert_clean(repr(found))
    assert_clean(str(found))
    assert_clean(repr(assembly))
    assert_clean("\n".join([*summarize(found, "http://x"), *warnings(found)]))
    keys = assembly.authenticator._keys._by_prefix if assembly.authenticator else None
    assert keys
    assert_clean(repr(keys))


ADDRESSES = [
    "threads: {type: sql, url: 'postgresql+asyncpg://me:${DATABASE}@127.0.0.1:1/x'}",
    "log: {type: postgres, url: 'postgresql://me:${DATABASE}@127.0.0.1:1/x'}",
    "log: {type: redis, url: 'redis://me:${DATABASE}@127.0.0.1:1/0'}",
    "engine: {type: dbos, url: 'postgresql://me:${DATABASE}@127.0.0.1:1/x'}",
]


@pytest.mark.parametrize("text", ADDRESSES)
def test_the_url_of_a_database_is_not_printed(text: str) -> None:
    found = config.parse(text, environ=CANARIES)

    assert_clean(repr(found))
    assert_clean("\n".join([*summarize(found, "http://x"), *warnings(found)]))


@pytest.mark.parametrize("text", ADDRESSES)
async def test_an_unreachable_database_is_reported_without_its_password(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assembly = app.assemble(config.parse(text, environ=CANARIES))

    with caplog.at_level(logging.DEBUG), pytest.raises(ConfigError) as wrong:
        async with assembly.opened():
            pass

    assert_clean(wrong.value.message)
    assert_clean(caplog.text)


@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_an_invalid_url_is_refused_without_quoting_it(kind: str) -> None:
    found = config.parse(f"log: {{type: {kind}, url: 'nonsense ${{DATABASE}}'}}", environ=CANARIES)

    with pytest.raises(ConfigError, match="should be like") as wrong:
        app.assemble(found)
    assert_clean(wrong.value.message)


@pytest.mark.parametrize(
    "text",
    [
        "access: {keys: [{name: a, key: 'canary-ALICE-6b1f with spaces'}]}",
        "access: {keys: [{name: a, key: 'canary-ALICE-6b1f', prefix: aaaaaaaa}]}",
        "access: {keys: [{name: a, key: ['canary-ALICE-6b1f']}]}",
        "access: {keys: [{name: a, key: {x: 'canary-ALICE-6b1f'}}]}",
        "access: {keys: {key: 'canary-ALICE-6b1f'}}",
        "access: {keys: ['canary-ALICE-6b1f']}",
        "access: {keys: [{name: a, hash: '${ALICE}', prefix: aaaaaaaa}]}",
        "access: {keys: [{key: '${ALICE}'}]}",
        "access: {keys: [{name: a, key: '${ALICE} '}]}",
        "access: {keys: [{name: a, kee: '${ALICE}'}]}",
        "access: {oidc: {issuer: 'https://x', client_id: c, client_secret: '${SIGN_IN} '}}",
        "access: {oidc: {client_secret: ['canary-SIGN_IN-6b1f']}}",
        "models: {default: {type: openai, model: m, api_key: ['canary-MODEL-6b1f']}}",
    ],
)
def test_a_secret_in_a_wrong_place_is_not_quoted(text: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        config.parse(text, environ=CANARIES)

    assert_clean(wrong.value.message)
