"""Model calls beside the answer: embeddings, transcriptions, responses that are requested again, and runs that wait."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rightseat import app, config
from rightseat.concurrency import aclosing
from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import ConcurrencyLimitExceeded, ModelUnreachable
from rightseat.core.events import Event, RunFailed, RunFinished
from rightseat.core.model import CallChunk, Chunk, Embedder, Model, Prompt, StopChunk, TextChunk, UsageChunk, Vectors
from rightseat.core.tools import Approval, Invocation, Tool
from rightseat.egress.redaction import Redactor
from rightseat.limits.kinds import REQUESTS, RUNS, TOKENS
from rightseat.limits.rules import LimitRule
from rightseat.plugins.definition import RetryPolicy, Step
from rightseat.plugins.flows import Dependencies, run
from rightseat.plugins.model_calls import RoleModelCaller
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.scope import Scope
from rightseat.plugins.selection import suggestions
from rightseat.plugins.selection.selector import Candidate
from rightseat.plugins.testing.mocks import MockNetwork, MockSecrets
from tests.conftest import serving
from tests.limits.test_meter import ANNA, DAY, SAID, Scripted, Served, metered
from tests.plugins.flows.playing import flow_of, plugin_of

AUDIO = b"\0" * 40_000
"""100 tokens, by its bytes."""


class Upstream:
    """A provider with embeddings and transcriptions, whose next status and reported usage tests choose."""

    def __init__(self) -> None:
        self.status = 200
        self.usage: dict[str, Any] | None = None
        self.calls = 0
        paths = {"/embeddings": self._embed, "/audio/transcriptions": self._transcribe}
        self.app = Starlette(routes=[Route(path, handle, methods=["POST"]) for path, handle in paths.items()])

    async def _embed(self, request: Request) -> Response:
        texts = json.loads(await request.body())["input"]
        vectors = [{"index": number, "embedding": [1.0]} for number in range(len(texts))]
        return self._respond({"data": vectors})

    async def _transcribe(self, request: Request) -> Response:
        await request.body()
        return self._respond({"text": "Good morning"})

    def _respond(self, body: dict[str, Any]) -> Response:
        self.calls += 1
        return JSONResponse(body | ({"usage": self.usage} if self.usage else {}), self.status)


@asynccontextmanager
async def limited(limit: str) -> AsyncIterator[tuple[httpx2.AsyncClient, Upstream]]:
    upstream = Upstream()
    async with serving(upstream.app) as there:
        hears = f'transcription: {{base_url: "{there}"}}'
        text = f"""
            models: {{vectors: {{type: openai, model: ada, base_url: "{there}"}}}}
            agents: {{default: {{model: vectors}}}}
            log: {{type: memory}}
            threads: {{type: memory}}
            faces: [{{type: openai, {hears}}}, {{type: copilotkit, agent: default, {hears}}}, {{type: usage}}]
            prices: {{ada: {{input: 10, output: 0}}, whisper-1: {{input: 10, output: 100}}}}
            limits: [{{name: all, subject: everyone, {limit}}}]
        """
        built = app.build(config.parse(text, environ={}))
        async with serving(built) as url, httpx2.AsyncClient(base_url=url) as client:
            yield client, upstream


async def embed(client: httpx2.AsyncClient, text: str = "Hi") -> httpx2.Response:
    return await client.post("/v1/embeddings", json={"model": "vectors", "input": text})


async def transcribe(client: httpx2.AsyncClient) -> httpx2.Response:
    return await client.post("/v1/audio/transcriptions", files={"file": ("a.webm", AUDIO, "audio/webm")})


async def usage(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """Rows by purpose, without what is 0."""
    shown = await client.get("/usage", params={"by": "agent,model,purpose"})
    return [{name: value for name, value in row.items() if value} for row in shown.json()["rows"]]


async def taken(client: httpx2.AsyncClient) -> list[tuple[str, float, float, int]]:
    shown = await client.get("/usage/limits")
    return [(one["kind"], one["used"], one["reserved"], one["running"]) for one in shown.json()["limits"]]


async def test_embeddings_count_as_a_request_with_the_reported_tokens_and_hold_no_slot() -> None:
    async with limited("requests_per_day: 1, tokens_per_day: 1000, concurrent_runs: 1") as (client, upstream):
        upstream.usage = {"prompt_tokens": 7, "total_tokens": 7}
        first, second = await embed(client), await embed(client)
        counters, rows = await taken(client), await usage(client)

    assert (first.status_code, first.headers["x-ratelimit-remaining-requests"]) == (200, "0")
    assert (second.status_code, second.json()["error"]["code"]) == (429, "budget_exceeded")
    assert (second.headers["x-rightseat-limit"], second.headers["x-should-retry"]) == ("all", "false")
    assert upstream.calls == 1
    assert counters == [("requests", 1, 0, 0), ("tokens", 7, 0, 0)]
    assert rows == [
        {"agent": "vectors", "purpose": "embeddings", "refused": 1},
        {
            "agent": "vectors",
            "model": "vectors",
            "purpose": "embeddings",
            "requests": 1,
            "input_tokens": 7,
            "cost": 0.00007,
        },
    ]


@pytest.mark.parametrize("status", [200, 500])
async def test_embeddings_without_usage_are_estimated_and_cost_nothing_if_they_fail(status: int) -> None:
    async with limited("tokens_per_day: 1000") as (client, upstream):
        upstream.status = status
        await embed(client, "four" * 10)
        counters, (row,) = await taken(client), await usage(client)

    assert counters == [("tokens", 11 if status == 200 else 0, 0, 0)]
    assert row.get("estimated_tokens") == (11 if status == 200 else None)
    assert row["requests"] == 1


async def test_texts_beyond_the_budget_are_not_sent() -> None:
    async with limited("tokens_per_day: 100") as (client, upstream):
        response = await embed(client, "a" * 1000)

    assert (response.status_code, response.json()["error"]["code"]) == (413, "request_too_large")
    assert upstream.calls == 0


@pytest.mark.parametrize(
    ("reported", "counted"),
    [
        (None, {"estimated_tokens": 104, "cost": 0.0014}),
        ({"type": "duration", "seconds": 3}, {"estimated_tokens": 104, "cost": 0.0014}),
        (
            {"type": "tokens", "input_tokens": 30, "output_tokens": 4, "total_tokens": 34},
            {"input_tokens": 30, "output_tokens": 4, "cost": 0.0007},
        ),
    ],
)
async def test_a_transcription_counts_by_its_tokens_or_else_by_its_bytes(
    reported: dict[str, Any] | None, counted: dict[str, Any]
) -> None:
    async with limited("tokens_per_day: 1000, cost_per_day: 1") as (client, upstream):
        upstream.usage = reported
        response, rows = await transcribe(client), await usage(client)

    assert response.json() == {"text": "Good morning"}
    known = {"agent": "transcription", "model": "whisper-1", "purpose": "transcriptions", "requests": 1}
    assert rows == [known | counted]


async def test_a_transcription_beyond_a_limit_is_refused_in_the_form_of_each_protocol() -> None:
    async with limited("requests_per_minute: 1") as (client, upstream):
        await transcribe(client)
        openai = await transcribe(client)
        copilotkit = await client.post("/copilotkit/transcribe", files={"audio": ("a.webm", AUDIO, "audio/webm")})

    assert (openai.status_code, openai.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert (copilotkit.status_code, copilotkit.json()["error"]) == (429, "rate_limited")
    assert copilotkit.json()["retryable"] is True
    assert int(copilotkit.headers["retry-after"]) > 1
    assert upstream.calls == 1


class Vectorizer(Scripted, Embedder):
    async def embed(self, texts: Any, dimensions: int | None = None) -> Vectors:
        return Vectors([[1.0] for _ in texts], 9)


class FlowAgent:
    """Runs one flow with this model, after it has embedded the question."""

    durable = False
    description = ""

    def __init__(self, model: Model, step: Step, suggests: bool = False) -> None:
        self._model, self._flow, self._suggests = metered(model), flow_of(step), suggests

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if isinstance(self._model, Embedder):
            await self._model.embed(["What is there?"])
        caller, redactor = RoleModelCaller(self._model), Redactor()
        network = OperationClient(MockNetwork([]), MockSecrets(), redactor)
        dependencies, plugin = Dependencies(caller, network, redactor, sleep=no_pause), plugin_of(self._flow)
        async with aclosing(run(plugin, self._flow, Scope("What?"), dependencies, steps)) as events:
            async for event in events:
                yield event
        if self._suggests:
            await suggestions.write_questions([Candidate(plugin, self._flow)], Scope("What?"), caller)
        yield RunFinished("done")


async def no_pause(_: float) -> None: ...


def serve_agent(served: Served, agent: FlowAgent) -> Served:
    served.runtime.agents["default"] = agent
    return served


def replies(text: str, tokens: int = 10) -> list[Chunk]:
    return [TextChunk(text), UsageChunk(tokens, 1), StopChunk("stop")]


SCHEMA: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FITTED = Step("start", "llm", {"user_prompt": "n?", "output_schema": SCHEMA}, retry=RetryPolicy(2))


async def test_responses_that_are_requested_again_for_a_schema_have_a_purpose_of_their_own() -> None:
    model = Vectorizer(replies("no JSON"), replies('{"n": "one"}'), replies('{"n": 1}'), replies("Done"))
    rules = LimitRule(TOKENS, 100_000, DAY), LimitRule(REQUESTS, 10, DAY)
    served = serve_agent(Served(model, *rules), FlowAgent(model, FITTED))

    assert isinstance(await served.ask(), RunFinished)

    found = await served.purposes()
    assert found == {("big", "answer"): (1, 22), ("big", "schema"): (0, 22), ("big", "embeddings"): (0, 9)}
    assert await served.used() == (53, 0)
    assert await served.used("requests/day") == (1, 0)


class Unsteady(Scripted):
    """The first call fails before its first token."""

    has_failed = False

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        if not self.has_failed:
            self.has_failed = True
            raise ModelUnreachable("down")
        async for chunk in super().stream(prompt):
            yield chunk


async def test_a_call_that_is_repeated_because_the_model_failed_is_for_the_answer() -> None:
    model = Unsteady(replies('{"n": 1}'), replies("Done"))
    served = serve_agent(Served(model, LimitRule(TOKENS, 100_000, DAY)), FlowAgent(model, FITTED))

    assert isinstance(await served.ask(), RunFinished)

    assert await served.purposes() == {("big", "answer"): (1, 22)}


async def test_a_flow_ends_with_the_budget_at_the_call_that_does_not_fit() -> None:
    model = Scripted(replies("no JSON", 700))
    served = serve_agent(Served(model, LimitRule(TOKENS, 1000, DAY), reserve={"big": 300}), FlowAgent(model, FITTED))

    last = await served.ask()

    assert isinstance(last, RunFailed)
    assert last.code == "budget_exceeded"
    assert (len(model.bounds), await served.used()) == (1, (701, 0))


async def test_suggestions_of_a_flow_have_their_purpose_and_a_budget_only_leaves_them_out() -> None:
    model = Scripted(replies("Hello", 700))
    step = Step("start", "llm", {"user_prompt": "Say hello"})
    rich = serve_agent(Served(model, LimitRule(TOKENS, 10_000, DAY)), FlowAgent(model, step, suggests=True))
    poor = Served(model, LimitRule(TOKENS, 1000, DAY), reserve={"big": 290})

    assert isinstance(await rich.ask(), RunFinished)
    assert isinstance(await serve_agent(poor, FlowAgent(model, step, suggests=True)).ask(), RunFinished)

    assert set(await rich.purposes()) == {("big", "answer"), ("big", "suggestions")}
    assert not any(tokens for (_, purpose), (_, tokens) in (await poor.purposes()).items() if purpose == "suggestions")


async def test_a_run_that_waits_for_a_person_holds_neither_tokens_nor_a_slot() -> None:
    async def erase(_: Invocation) -> str:
        return "erased"

    call: list[Chunk] = [CallChunk(0, "{}", "c1", "erase"), UsageChunk(30, 10), StopChunk("tool_calls")]
    model = Scripted(call, [*SAID, UsageChunk(5, 1)])
    tool = Tool("erase", "Erases.", {}, erase, approval=Approval("Erase it?"))
    served = Served(model, LimitRule(RUNS, 1), LimitRule(TOKENS, 10_000, DAY), tools=[tool])

    waiting = await served.ask(500, transient=False)
    held = await served.used("concurrent_runs"), await served.used()
    other = await served.runtime.admission.admit(Ask(messages=(), principal=ANNA))
    question = waiting.interrupts[0] if isinstance(waiting, RunFinished) else None
    assert question is not None
    goes_on = Ask(messages=(), principal=ANNA, answers=(Answer(question.id, "resolved", True),))
    with pytest.raises(ConcurrencyLimitExceeded):
        await served.runtime.admission.admit(goes_on)
    await other.close()
    slot = await served.runtime.admission.admit(goes_on)

    assert held == ((0, 0), (40, 0))
    assert await served.used("concurrent_runs") == (0, 1)
    await slot.close()
