"""What a client is told first: which agents there are, and what the server can do."""

from typing import Any

import pytest

from rightseat import __version__
from rightseat.config import Access
from rightseat.core.loop.agent_loop import Loop
from rightseat.testing import ScriptedModel, says
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import BASE, app, asking, read, text_of, visiting
from tests.faces.copilotkit.serving import runtime

HELPER = Loop(ScriptedModel([says("I help")]), description="Helps.")
SALES = Loop(ScriptedModel([says("I sell")]), description="Sells.")
ABILITIES = {
    "tools": {"supported": True, "clientProvided": True},
    "transport": {"streaming": True},
    "humanInTheLoop": {"interrupts": True},
}
THREADS = {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False}


async def info(serve: Serve, headers: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
    async with serve(app(runtime(helper=HELPER, sales=SALES), **options)) as url, visiting(url) as client:
        by_path = await client.get(url + BASE + "/info", headers=headers)
        by_envelope = await client.post(url + BASE, json={"method": "info"}, headers=headers)
    assert by_path.json()["agents"] == by_envelope.json()["agents"]
    found: dict[str, Any] = by_path.json()
    return found


async def test_all_that_a_client_reads_is_there(serve: Serve) -> None:
    assert await info(serve, agents=("helper",)) == {
        "version": __version__,
        "agents": {
            "default": {"name": "default", "description": "", "className": "Agent", "capabilities": ABILITIES},
            "helper": {"name": "helper", "description": "Helps.", "className": "Agent", "capabilities": ABILITIES},
        },
        "audioFileTranscriptionEnabled": False,
        "mode": "sse",
        "threadEndpoints": THREADS,
        "suggestions": True,
        "a2uiEnabled": False,
        "openGenerativeUIEnabled": False,
        "telemetryDisabled": True,
    }


async def test_info_by_envelope_lists_the_thread_operations_by_envelope(serve: Serve) -> None:
    async with serve(app(runtime(), single_endpoint=True)) as url, visiting(url) as client:
        answer = await client.post(url + BASE, json={"method": "info"})

    assert answer.json()["threadEndpoints"] == dict.fromkeys(THREADS, False)
    assert answer.json()["singleRoute"] == {"resourceOperations": True, "threadEndpoints": THREADS}


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["default", "helper", "sales"]),
        ({"agents": ()}, ["default"]),
        ({"agents": ("sales",)}, ["default", "sales"]),
        ({"agents": ("sales",), "agent": None}, ["sales"]),
        ({"agents": ("sales",), "agent": "helper"}, ["default", "helper", "sales"]),
        ({"agents": ("sales", "gone"), "agent": "gone"}, ["sales"]),
    ],
)
async def test_the_agents_are_those_that_a_client_may_name(
    serve: Serve, options: dict[str, Any], names: list[str]
) -> None:
    assert sorted((await info(serve, **options))["agents"]) == names


async def test_default_stands_for_the_agent_that_answers_where_none_is_named(serve: Serve) -> None:
    """The clients ask for `default` unless their page says otherwise."""
    served = runtime(helper=HELPER)
    del served.agents["default"]

    async with serve(app(served, agent="helper")) as url, visiting(url) as client:
        answer = await client.post("/agent/default/run", json=asking())
        under_both = [await client.get("/threads", params={"agentId": name}) for name in ("default", "helper")]

    assert text_of(read(answer.content)) == "I help"
    assert [[(one["id"], one["agentId"]) for one in listed.json()["threads"]] for listed in under_both] == [
        [("t-1", "default")],
        [("t-1", "helper")],
    ]


async def test_an_agent_that_is_called_default_is_not_hidden_by_another(serve: Serve) -> None:
    async with serve(app(runtime(helper=HELPER), agent="helper")) as url, visiting(url) as client:
        answer = await client.post(url + BASE + "/agent/default/run", json=asking())

    assert text_of(read(answer.content)) == "Hello"


SCOPES = {
    "keys": [{"name": "some", "key": "key-some", "scopes": ["copilotkit:helper"]}, {"name": "all", "key": "k-all"}]
}


async def test_a_client_sees_the_agents_that_its_key_allows(serve: Serve) -> None:
    access = Access.model_validate(SCOPES)

    assert list((await info(serve, {"x-api-key": "key-some"}, access=access))["agents"]) == ["helper"]
    assert len((await info(serve, {"x-api-key": "k-all"}, access=access))["agents"]) == 3


async def test_the_error_for_an_unknown_agent_lists_only_the_agents_of_the_user(serve: Serve) -> None:
    served = app(runtime(helper=HELPER, sales=SALES), access=Access.model_validate(SCOPES))
    key = {"x-api-key": "key-some"}

    async with serve(served) as url, visiting(url, **key) as client:
        unknown = await client.post("/agent/nobody/run", json=asking())
        not_for_it = await client.post("/agent/sales/run", json=asking())

    assert unknown.status_code == 404
    assert unknown.json() == {
        "error": "Agent not found",
        "message": "No agent named 'nobody'. Configured: helper.",
        "code": "agent_not_found",
    }
    assert (not_for_it.status_code, not_for_it.json()["code"]) == (403, "insufficient_scope")
