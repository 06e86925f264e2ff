"""LangGraph graphs, as the configuration names them. What they say is in `tests/contracts`."""

from typing import Any, cast

import pytest
from pydantic import ValidationError

from rightseat.agents.event_normalizer import InvalidAgentEvent
from rightseat.agents.langgraph import Options, build
from rightseat.agents.langgraph.local import LocalGraph
from rightseat.agents.langgraph.platform import LangGraphPlatform, read_event
from rightseat.agents.langgraph.runner import GraphRun, thread_id, write_config
from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import AgentUnreachable, ConfigError
from rightseat.core.messages import user
from rightseat.core.types import JsonValue
from rightseat.parts import Parts
from rightseat.wire.langgraph import LangGraphDecoder
from tests.servers.running import PROGRAMS

NO_PARTS = cast(Parts, None)


def test_a_graph_is_at_an_address_or_in_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROGRAMS)

    assert isinstance(build(Options(url="http://localhost:2024"), NO_PARTS), LangGraphPlatform)
    assert isinstance(build(Options(graph="graph:served"), NO_PARTS), LocalGraph)


@pytest.mark.parametrize("wrong", [{}, {"url": "http://x", "graph": "m:n"}, {"url": "x"}])
def test_it_is_at_one_of_them(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Options(**wrong)


def test_an_object_that_is_no_graph_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROGRAMS)

    with pytest.raises(ConfigError, match="should name a compiled graph"):
        build(Options(graph="graph:CALLS"), NO_PARTS)


def test_a_thread_is_named_by_its_owner_too() -> None:
    ann, bob = (Ask(messages=(), thread_id="t", principal=Principal(name)) for name in ("ann", "bob"))

    assert thread_id(ann) == thread_id(Ask(messages=(), thread_id="t", principal=Principal("ann")))
    assert thread_id(ann) != thread_id(bob)


@pytest.mark.parametrize(
    ("heard", "config"),
    [
        (False, {"recursion_limit": 5, "configurable": {"user": "operator"}}),
        (True, {"recursion_limit": 5, "tags": ["a"], "configurable": {"user": "operator", "mood": "good"}}),
    ],
)
def test_the_configuration_of_the_operator_wins_over_the_clients(heard: bool, config: dict[str, Any]) -> None:
    own = {"recursion_limit": 5, "configurable": {"user": "operator"}}
    theirs: JsonValue = {"user": "root", "mood": "good", "thread_id": "of another", "checkpoint_id": "c"}
    ask = Ask(messages=(), config={"recursion_limit": 900, "tags": ["a"], "configurable": theirs})

    assert write_config(own, ask, client_config=heard) == config


async def test_a_missing_server_is_reported_at_once() -> None:
    async with LangGraphPlatform("http://127.0.0.1:9") as agent:
        with pytest.raises(AgentUnreachable, match="The LangGraph server failed"):
            async for _ in agent.run(Ask(messages=(user("Hi"),)), DirectSteps()):
                pass


def test_an_event_that_is_no_json_is_the_servers_fault() -> None:
    for data in (b'{"":"\x81"}', b"{", b"[" * 100_000):
        with pytest.raises(AgentUnreachable, match=r"^The LangGraph server sent an event that is not JSON"):
            read_event(data, "http://x")


def test_an_event_with_values_of_the_wrong_type_is_the_graphs_fault() -> None:
    ask = Ask(messages=(user("Hi"),))
    saying = GraphRun(ask, LangGraphDecoder((), ask.messages), show_errors=False)

    with pytest.raises(InvalidAgentEvent, match="wrong type"):
        list(saying.feed("updates", {"__interrupt__": [3]}))
