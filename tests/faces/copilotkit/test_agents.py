"""Agents of a part that stands for several, through both of CopilotKit's protocols."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from rightseat.core.agent import Agent, AgentThread
from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentEndpointNotFound, AgentUnreachable, NotConfigured
from rightseat.core.events import Event, StateReplaced, TextDelta, TextEnded, TextStarted
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.guards import patterns
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from tests.conftest import Serve
from tests.faces.copilotkit.serving import app, chat, post, runtime
from tests.faces.copilotkit.urql import merge, parts

LISTED = "{ availableAgents { agents { name description } } }"


class Says:
    description = ""

    def __init__(self, name: str) -> None:
        self.name = name

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield StateReplaced({"asked": ask.agent})
        for event in (TextStarted("m"), TextDelta("m", f"I am {self.name}"), TextEnded("m")):
            yield event


class Crew:
    """Stands for two agents, or cannot be reached."""

    description = ""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem
        self.asked: list[Ask] = []

    async def members(self, ask: Ask) -> Mapping[str, str]:
        self.asked.append(ask)
        if self.problem:
            raise self.problem
        return {"ann": "knows things", "bob": "does things"}

    def member(self, name: str) -> Agent:
        return Says(name)

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        raise NotConfigured("name one")


async def listed(url: str) -> Any:
    return (await post(url, {"query": LISTED})).json()


async def test_its_members_are_listed_in_place_of_it(serve: Serve) -> None:
    crew = Crew()
    served = app(runtime(crew=crew, other=Says("other")), headers=("x-tenant",))
    async with serve(served) as url, httpx2.AsyncClient(base_url=url) as client:
        headers = {"x-tenant": "t1", "x-else": "e"}
        found = (await client.post("/copilotkit", json={"query": LISTED}, headers=headers)).json()
        info = (await client.get("/copilotkit/info")).json()

    names = {one["name"]: one["description"] for one in found["data"]["availableAgents"]["agents"]}
    assert names == {"other": "", "ann": "knows things", "bob": "does things"}
    assert set(info["agents"]) == {"default", "other", "ann", "bob"}
    assert crew.asked[0].headers == {"x-tenant": "t1"}


async def test_one_of_them_answers_under_its_own_name(serve: Serve) -> None:
    async with serve(app(runtime(crew=Crew()))) as url:
        response = merge(parts((await post(url, chat("Hi", thread="t1", agent="bob"))).content))
        given = {"threadId": "t2", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Hi"}]}
        async with httpx2.AsyncClient() as client:
            run = await client.post(f"{url}/copilotkit/agent/bob/run", json=given)

    state, text, _ = response["generateCopilotResponse"]["messages"]
    assert (state["agentName"], state["state"]) == ("bob", '{"asked":"crew/bob"}')
    assert text["content"] == ["I am bob"]
    assert "I am bob" in run.text


LOAD = """query ($data: LoadAgentStateInput!) {
  loadAgentState(data: $data) { threadId threadExists state messages }
}"""


class Remembers(Says):
    """Has the thread `old`, of every user."""

    def __init__(self) -> None:
        super().__init__("memory")
        self.asked: list[Ask] = []

    async def load_thread(self, ask: Ask) -> AgentThread | None:
        self.asked.append(ask)
        if ask.thread_id == "down":
            raise AgentUnreachable("It takes no connection.")
        return AgentThread((user("Hi"),), {"n": 1}) if ask.thread_id == "old" else None


async def load(url: str, thread: str, agent: str = "memory") -> Any:
    body = {"query": LOAD, "variables": {"data": {"agentName": agent, "threadId": thread}}}
    return (await post(url, body)).json()


async def test_a_thread_that_only_the_agent_has_is_loaded_from_it(serve: Serve) -> None:
    memory = Remembers()
    async with serve(app(runtime(memory=memory, other=Says("other")))) as url:
        old = (await load(url, "old"))["data"]["loadAgentState"]
        absent = (await load(url, "new"))["data"]["loadAgentState"]
        other = (await load(url, "old", "other"))["data"]["loadAgentState"]
        down = await load(url, "down")
        await post(url, chat("Hi", thread="mine", agent="memory"))
        mine = (await load(url, "mine"))["data"]["loadAgentState"]

    assert (old["threadExists"], json.loads(old["state"])) == (True, {"n": 1})
    assert [one["content"] for one in json.loads(old["messages"])] == ["Hi"]
    assert (absent["threadExists"], other["threadExists"], mine["threadExists"]) == (False, False, True)
    assert down["errors"][0]["message"] == "It takes no connection."
    assert [ask.thread_id for ask in memory.asked] == ["old", "new", "down"]  # this server has the last one


async def test_behind_guards_no_thread_is_loaded_from_the_agent(serve: Serve) -> None:
    memory = Remembers()
    guard = patterns.build(patterns.Options(phrases=("Hi",)), None)  # type: ignore[arg-type]  # it asks for no parts
    served = Runtime(
        {"default": memory}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine(), guards=[guard]
    )
    async with serve(app(served)) as url:
        loaded = (await load(url, "old", "default"))["data"]["loadAgentState"]

    assert (loaded["threadExists"], memory.asked) == (False, [])


async def test_an_unknown_member_is_reported_with_the_known_ones(serve: Serve) -> None:
    async with serve(app(runtime(crew=Crew()))) as url:
        (error,) = (await post(url, chat("Hi", thread="t1", agent="eve"))).json()["errors"]
        async with httpx2.AsyncClient() as client:
            run = await client.post(
                f"{url}/copilotkit/agent/eve/run", json={"threadId": "t", "runId": "r", "messages": []}
            )

    assert error["extensions"]["code"] == "AGENT_NOT_FOUND"
    assert "ann, bob" in error["message"]
    assert run.status_code == 404


async def test_an_unreachable_endpoint_is_reported_if_there_is_no_other_agent(serve: Serve) -> None:
    gone, missing = Crew(AgentUnreachable("It takes no connection.")), Crew(AgentEndpointNotFound("Nothing there."))
    async with serve(app(runtime(crew=gone))) as url, serve(app(runtime(crew=missing))) as second:
        alone, nothing = await listed(url), await listed(second)
        async with httpx2.AsyncClient() as client:
            info = (await client.get(f"{url}/copilotkit/info")).json()
    async with serve(app(runtime(crew=gone, other=Says("other")))) as url:
        beside = await listed(url)

    assert alone["errors"][0]["extensions"]["code"] == "NETWORK_ERROR"
    assert nothing["errors"][0]["extensions"]["code"] == "API_NOT_FOUND"
    assert set(info["agents"]) == {"default"}
    assert [one["name"] for one in beside["data"]["availableAgents"]["agents"]] == ["other"]


def test_a_user_who_may_use_the_part_may_use_its_members() -> None:
    reader = Principal("reader", ("crew",))

    assert reader.may_use("crew/ann")
    assert not reader.may_use("other/ann")
