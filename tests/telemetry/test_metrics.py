"""Counters and times, as Prometheus fetches them."""

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from rightseat import app, config
from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask, Parameters
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.tracing import trace_span
from rightseat.telemetry.metrics import Metrics
from rightseat.testing import ScriptedModel, says
from tests.conftest import serving
from tests.core.loop.test_agent_loop import Steps


def test_a_run_is_counted_with_its_outcome() -> None:
    metrics = Metrics()
    with trace_span("run", "clerk", metrics) as run:
        assert value(metrics, "rightseat_runs_running") == 1
        with trace_span("model", "small") as model:
            model.note(input_tokens=7, output_tokens=3)
            model.note(cache_read_tokens=5, cache_written_tokens=0)
        with trace_span("tool", "get_weather") as tool:
            tool.note(error="tool_failed")
        run.note(outcome="waiting")

    assert value(metrics, "rightseat_runs_running") == 0
    assert value(metrics, "rightseat_runs_total", agent="clerk", outcome="waiting") == 1
    assert value(metrics, "rightseat_model_calls_total", model="small", outcome="done") == 1
    assert value(metrics, "rightseat_tool_calls_total", tool="get_weather", outcome="tool_failed") == 1
    assert value(metrics, "rightseat_tokens_total", model="small", direction="input") == 7
    assert value(metrics, "rightseat_tokens_total", model="small", direction="cached") == 5
    assert value(metrics, "rightseat_runs_seconds_count", agent="clerk") == 1


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value
    return None


async def test_the_face_shows_what_the_server_did() -> None:
    read = config.parse(
        "{models: {default: {type: scripted, chunk_delay: 0}}, log: {type: memory}, threads: {type: memory},"
        " faces: [{type: openai}, {type: metrics}]}",
        environ={},
    )
    said = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
    async with serving(app.build(read)) as url, httpx2.AsyncClient(base_url=url) as client:
        await client.post("/v1/chat/completions", json=said)
        shown = await client.get("/metrics")

    assert shown.headers["content-type"].startswith("text/plain")
    assert 'rightseat_runs_total{agent="default",outcome="done"}' in shown.text


async def test_a_client_makes_no_labels_and_a_run_that_is_left_is_no_error() -> None:
    """Each label is kept for as long as the server runs, so a client must not choose them."""
    metrics = Metrics()
    loop = Loop(ScriptedModel([says("Hello.", "Bye.")]))
    ask = Ask(messages=(user("Hi"),), parameters=Parameters(model="one-of-many"))
    with trace_span("run", "clerk", metrics):
        async with aclosing(loop.run(ask, Steps())) as events:
            await anext(events)

    assert value(metrics, "rightseat_model_calls_total", model="ScriptedModel", outcome="cancelled") == 1
    assert "one-of-many" not in metrics.text().decode()


async def test_the_face_asks_for_a_key_where_there_are_some() -> None:
    read = config.parse(
        "{access: {keys: [{name: a, key: rs-secret-key-0123456789}]}, log: {type: memory}, threads: {type: memory},"
        " faces: [{type: metrics}]}",
        environ={},
    )
    async with serving(app.build(read)) as url, httpx2.AsyncClient(base_url=url) as client:
        assert (await client.get("/metrics")).status_code == 401
        assert (await client.get("/metrics", headers={"x-api-key": "rs-secret-key-0123456789"})).status_code == 200
