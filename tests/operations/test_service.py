"""What an operator without rights receives from `Operations`, method by method, and which faces receive it at all."""

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, get_type_hints

import pytest
from fastapi import APIRouter
from pydantic import BaseModel

from rightseat.access.route_auth import RouteAuth
from rightseat.app.operations import build_operations, build_sources
from rightseat.app.routing import parts_asked_for
from rightseat.config import ConfiguredPart, parse
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import InsufficientScope, RightseatError
from rightseat.core.events import RunFinished
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.run.observers import RunObservers
from rightseat.core.runtime import Runtime
from rightseat.core.tracing import NO_OBSERVER
from rightseat.engines.local import LocalEngine
from rightseat.limits.prices import Prices
from rightseat.logs.memory import MemoryLog
from rightseat.operations.activity import RunActivity
from rightseat.operations.annotations import AnnotationQuery
from rightseat.operations.feedback import FeedbackQuery, SentJudgement
from rightseat.operations.memories import MemoryQuery
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.operations.own_memories import OwnMemories, SentMemory
from rightseat.operations.plugin_operations import PluginOperations
from rightseat.operations.records import RunQuery, ThreadQuery
from rightseat.operations.rights import ALL_RIGHTS, Operator, OperatorNotFound, OperatorRights
from rightseat.operations.service import Operations
from rightseat.operations.store import store_of
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox, tool

ALICE, EVE = Principal("alice"), Operator(Principal("eve"))
"""EVE has a key of her own, and no right for the data of others."""
ROOT = Operator(Principal("root"), ALL_RIGHTS)
ASKED = "Delete the file?"


@tool(name="delete_file", approval=ASKED)
async def delete_file(path: str) -> str:
    return f"deleted {path}"


class World(NamedTuple):
    """A server on which alice has a run that waits for an answer, and a transient run."""

    operations: Operations
    runtime: Runtime
    arguments: Mapping[str, Any]


@pytest.fixture
async def world(caplog: pytest.LogCaptureFixture) -> AsyncIterator[World]:
    caplog.set_level(logging.INFO, "rightseat.audit")
    threads = MemoryThreads()
    store = store_of(threads)
    config = parse("models: {default: {type: scripted}}\nfaces: [{type: operator}]\n", environ={})
    sources = build_sources(config, store)
    model = ScriptedModel([calls("delete_file", '{"path": "a"}'), says("Hi"), says("Bye")])
    runtime = Runtime(
        {"default": Loop(model, [FunctionToolbox([delete_file])])},
        log=MemoryLog(),
        threads=threads,
        engine=LocalEngine(),
        artifacts=store.artifacts,
        observers=RunObservers(NO_OBSERVER, sources.activity, sources.transient_runs),
    )
    await runtime.open()
    stored = await finish(runtime, Ask(messages=(user("Delete a"),), agent="default", principal=ALICE))
    transient = Ask(messages=(user("Hi"),), agent="default", principal=ALICE, transient=True)
    await finish(runtime, transient)
    (question,) = await runtime.pending(ALICE)
    assert store.artifacts is not None
    file = await store.artifacts.put(stored, "a.txt", "text/plain", b"words")
    await OwnFeedback(runtime, store.feedback).give(ALICE, stored.run_id, SentJudgement("down", "No"), "openai")
    assert store.memories is not None
    remembered = await OwnMemories(store.memories).add(ALICE, SentMemory(text="Tea.", kind="topical"), may_share=False)
    sources.audit.attach()
    logging.getLogger("rightseat.audit").info("operator: olga signed in")
    sources.audit.detach()
    arguments: dict[str, Any] = {
        "thread_id": stored.thread_id,
        "run_id": stored.run_id,
        "find_transient_run.run_id": transient.run_id,
        "interrupt_id": question.interrupt.id,
        "file_id": file,
        "owner": None,  # of all users
        "record_download.owner": ALICE,
        "remove_memory.owner": ALICE.id,
        "id": remembered.id,
        "since": 0.0,
        "visit": lambda run: None,
        "name": "stolen",
        "plugin": "house",
        "path": "plugin.json",
        "files": {},
        "flow": "greet",
        "question": "Who?",
        "text": "{}",
        "etag": "*",
        "bucket": "day",
        "limit": 10,
    }
    yield World(build_operations(runtime, store, sources, [], Prices()), runtime, arguments)
    await runtime.close()


async def finish(runtime: Runtime, ask: Ask) -> Ask:
    ask = await runtime.start(ask)
    async for entries in runtime.follow(ask.run_id):
        last = entries[-1].event
    assert isinstance(last, RunFinished)
    return ask


def find_methods() -> dict[str, Callable[..., Any]]:
    """The public methods of `Operations`, and of what is public in it."""
    found = dict(inspect.getmembers(Operations, inspect.isfunction))
    found |= {f"plugins.{name}": method for name, method in inspect.getmembers(PluginOperations, inspect.isfunction)}
    return {name: method for name, method in found.items() if not name.rpartition(".")[2].startswith("_")}


METHODS = find_methods()
NEWS = {"following", "subscribe"}
"""They return nothing that is stored; the tests of their own are below."""
QUERIES = {ThreadQuery: ThreadQuery(), RunQuery: RunQuery(), FeedbackQuery: FeedbackQuery(), MemoryQuery: MemoryQuery()}
QUERIES |= {AnnotationQuery: AnnotationQuery()}


async def call(world: World, name: str, operator: Operator) -> Any:
    """A new parameter of a method needs a value in `world`, or a default."""
    part, _, method = name.rpartition(".")
    owner = getattr(world.operations, part) if part else world.operations
    hints = get_type_hints(METHODS[name])
    given: dict[str, Any] = {}
    for parameter in [*inspect.signature(METHODS[name]).parameters.values()][2:]:
        if parameter.default is not parameter.empty:
            continue
        query = QUERIES.get(hints[parameter.name])
        known = world.arguments.get(f"{name}.{parameter.name}")
        given[parameter.name] = query or known or world.arguments[parameter.name]
    result = getattr(owner, method)(operator, **given)
    return await result if inspect.isawaitable(result) else result


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NEWS))
def test_every_method_is_called_by_an_operator(name: str) -> None:
    first = [*inspect.signature(METHODS[name]).parameters.values()][1]

    assert (first.name, first.annotation) == ("operator", Operator)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NEWS))
async def test_an_operator_without_rights_gets_an_error_from_every_method(world: World, name: str) -> None:
    with pytest.raises(RightseatError) as refusal:
        await call(world, name, EVE)

    assert refusal.value.status in (403, 404)
    assert "alice" not in refusal.value.message


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NEWS - {"change_thread"}))
async def test_an_operator_with_all_rights_is_refused_by_none(world: World, name: str) -> None:
    """Without this, the test above could pass because the data is missing. No plugin is loaded here."""
    refusal: RightseatError | None = None
    try:
        await call(world, name, ROOT)
    except RightseatError as error:
        refusal = error

    assert not isinstance(refusal, InsufficientScope | OperatorNotFound)
    assert refusal is None or name.startswith("plugins.")


async def test_the_lists_over_all_users_have_what_alice_did(world: World) -> None:
    threads = await call(world, "list_threads", ROOT)
    runs = await call(world, "list_runs", ROOT)
    questions = await call(world, "list_questions", ROOT)
    votes = await call(world, "list_feedback", ROOT)
    counts = await call(world, "count_feedback", ROOT)
    lines = await call(world, "list_audit", ROOT)

    assert [row.user for row in threads.rows] == ["alice"]
    assert [(one.record.user, one.is_kept) for one in runs.rows] == [("alice", False), ("alice", True)]
    assert [(row.owner, row.comment) for row in votes.rows] == [("alice", "No")]
    assert [(count.agent, count.up, count.down) for count in counts] == [("default", 0, 1)]
    assert [question.user for question in questions] == ["alice"]
    assert [line.text for line in lines] == ["operator: olga signed in"]


async def test_ones_own_data_needs_no_right_and_has_nothing_of_others(world: World) -> None:
    own = await world.operations.list_threads(EVE, ThreadQuery(user="eve"))
    theirs = await world.operations.list_threads(Operator(ALICE), ThreadQuery(user="alice"))

    assert own.rows == []
    assert [row.user for row in theirs.rows] == ["alice"]


async def test_a_reader_in_the_query_of_a_caller_is_replaced(world: World) -> None:
    wide = await world.operations.list_threads(ROOT, ThreadQuery())
    forged = ThreadQuery(reader=None, user="eve")

    assert len(wide.rows) == 1
    assert (await world.operations.list_threads(EVE, forged)).rows == []


async def test_a_right_for_one_agent_shows_no_other(world: World) -> None:
    narrow = Operator(Principal("sam"), OperatorRights(watch=("slow",), read=("slow",), act=("slow",)))

    assert (await world.operations.list_threads(narrow, ThreadQuery())).rows == []
    assert await world.operations.list_questions(narrow, None) == []
    with pytest.raises(OperatorNotFound):
        await world.operations.find_run(narrow, world.arguments["run_id"])


async def test_who_may_only_watch_receives_counts_and_no_comments(world: World) -> None:
    watcher = Operator(Principal("sam"), OperatorRights(watch=None))

    assert len(await world.operations.count_feedback(watcher, FeedbackQuery(), "day")) == 1
    with pytest.raises(InsufficientScope, match="lacks the scope"):
        await world.operations.list_feedback(watcher, FeedbackQuery())
    assert (await world.operations.list_feedback(watcher, FeedbackQuery(owner="sam"))).rows == []


@pytest.mark.parametrize(("operator", "news"), [(EVE, 0), (Operator(ALICE), 2), (ROOT, 2)])
async def test_a_subscription_has_the_runs_that_its_operator_may_see(
    world: World, operator: Operator, news: int
) -> None:
    with world.operations.subscribe(operator) as queue:
        await finish(world.runtime, Ask(messages=(user("Hi"),), agent="default", thread_id="t2", principal=ALICE))

        found = [queue.get_nowait() for _ in range(queue.qsize())]

    assert [type(one) for one in found] == [RunActivity] * news


def test_news_are_all_that_is_no_method_of_an_operator() -> None:
    parameters = {name: [*inspect.signature(METHODS[name]).parameters] for name in NEWS}

    assert parameters == {"following": ["self", "started"], "subscribe": ["self", "operator"]}


# Faces


class Options(BaseModel):
    """Of a face of another package."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth) -> APIRouter:
    return APIRouter()


def routes_of_operators(runtime: Runtime, options: Options, auth: RouteAuth, operations: Operations) -> APIRouter:
    return APIRouter()


async def test_only_a_face_that_asks_for_operations_receives_them(world: World) -> None:
    stranger, asking = (
        ConfiguredPart("faces", "acme", SimpleNamespace(routes=found), Options())  # type: ignore[arg-type]  # a module
        for found in (routes, routes_of_operators)
    )

    assert parts_asked_for(stranger, operations=world.operations) == {}
    assert parts_asked_for(asking, operations=world.operations) == {"operations": world.operations}


async def test_a_runtime_has_ten_parameters_and_no_list_over_users(world: World) -> None:
    public = {name for name in dir(world.runtime) if not name.startswith("_")}

    assert len(inspect.signature(Runtime).parameters) <= 10
    assert not public & {"records", "prices", "workbenches", "recent", "audit", "audit_trail", "transient_runs"}
    assert not hasattr(world.runtime.activity, "list")
