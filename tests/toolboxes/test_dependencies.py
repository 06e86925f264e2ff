"""What tools receive beside the model's arguments."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated

import pytest
from fastapi import Cookie, Depends, Query, Request
from fastapi.security import SecurityScopes
from pydantic import JsonValue

from rightseat import RightseatError, tool
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ConfigError
from rightseat.core.messages import user
from rightseat.core.tools import Invocation
from rightseat.toolboxes.functions import Function, FunctionToolbox, make_tool

ALICE = Principal("alice", claims={"tenant": "acme"})
ASK = Ask(messages=(user("Hi"),), principal=ALICE)


async def call(function: Function, **arguments: JsonValue) -> str:
    return await call_with({}, function, **arguments)


async def call_with(overrides: dict[Function, Function], function: Function, **arguments: JsonValue) -> str:
    (made,) = await FunctionToolbox([function], overrides=overrides).tools(ASK)
    assert made.run is not None
    return await made.run(Invocation("call_1", arguments, ASK, "key"))


class Session:
    name = "database"


log: list[str] = []


@pytest.fixture(autouse=True)
def _empty_log() -> None:
    log.clear()


async def get_session() -> AsyncIterator[Session]:
    log.append("open")
    try:
        yield Session()
    finally:
        log.append("close")


def get_session_in_a_thread() -> Iterator[Session]:
    log.append(f"open {threading.current_thread() is threading.main_thread()}")
    try:
        yield Session()
    finally:
        log.append("close")


@tool
async def count(table: str, session: Annotated[Session, Depends(get_session)]) -> str:
    """Rows of a table."""
    log.append("query")
    return f"{session.name} {table}"


async def test_the_principal_and_the_call_are_passed_and_hidden_from_the_model() -> None:
    @tool
    def orders(year: int, caller: Principal, invocation: Invocation) -> str:
        return f"{caller.id} {caller.claims['tenant']} {year} {invocation.key}"

    assert await call(orders, year=2026) == "alice acme 2026 key"
    assert list(make_tool(orders).parameters["properties"]) == ["year"]  # type: ignore[arg-type]  # a JsonValue


async def test_the_model_cannot_send_what_is_injected() -> None:
    @tool
    def whoami(caller: Principal) -> str:
        return caller.id

    with pytest.raises(RightseatError, match="there is no argument caller"):
        await call(whoami, caller={"id": "root"})


async def test_a_dependency_is_open_during_the_call() -> None:
    assert await call(count, table="users") == "database users"
    assert log == ["open", "query", "close"]


async def test_a_dependency_is_closed_if_the_tool_fails() -> None:
    @tool
    async def explode(session: Annotated[Session, Depends(get_session)]) -> str:
        raise ValueError(session.name)

    with pytest.raises(ValueError, match="database"):
        await call(explode)

    assert log == ["open", "close"]


async def test_invalid_arguments_open_no_dependency() -> None:
    with pytest.raises(RightseatError, match="table is missing"):
        await call(count)

    assert log == []


async def test_a_generator_that_is_not_async_runs_in_a_thread() -> None:
    @tool
    def name(session: Session = Depends(get_session_in_a_thread)) -> str:  # noqa: B008  # FastAPI's older form
        return session.name

    assert await call(name) == "database"
    assert log == ["open False", "close"]


async def test_dependencies_have_dependencies_which_one_call_shares() -> None:
    opened: list[str] = []

    def get_tenant(caller: Principal) -> str:
        opened.append(caller.id)
        return str(caller.claims["tenant"])

    class Orders:
        def __init__(self, tenant: Annotated[str, Depends(get_tenant)], limit: int = 3) -> None:
            self.text = f"{limit} orders of {tenant}"

    @tool
    def orders(found: Annotated[Orders, Depends()], tenant: Annotated[str, Depends(get_tenant)]) -> str:
        return f"{found.text}, {tenant}"

    assert await call(orders) == "3 orders of acme, acme"
    assert opened == ["alice"]


async def test_an_override_replaces_a_dependency_of_each_call() -> None:
    class Fake(Session):
        name = "fake"

    overrides: dict[Function, Function] = {}
    assert await call_with(overrides, count, table="users") == "database users"
    overrides[get_session] = Fake

    assert await call_with(overrides, count, table="users") == "fake users"


def of_request(request: Request) -> str:
    return str(request.url)


def of_cookie(session: Annotated[str, Cookie()] = "") -> str:
    return session


def of_query(page: int = Query(1)) -> int:
    return page


def of_something(page: int) -> int:
    return page


def of_scopes(scopes: SecurityScopes) -> str:
    return scopes.scope_str


def below(request: Annotated[str, Depends(of_request)]) -> str:
    return request


@pytest.mark.parametrize("provider", [of_request, of_cookie, of_query, of_something, of_scopes, below])
def test_a_dependency_on_the_request_is_refused_where_the_tool_is_decorated(provider: Callable[..., object]) -> None:
    def wrong(value: Annotated[object, Depends(provider)]) -> str:
        return str(value)

    with pytest.raises(ConfigError, match=r"The tool 'wrong' depends on .* comes from a `Request`.*`claims`"):
        tool(wrong)


def test_a_parameter_that_json_cannot_be_is_explained() -> None:
    def wrong(session: Session) -> str:
        return session.name

    with pytest.raises(ConfigError, match=r"The tool 'wrong' has a parameter that no JSON can be.*Depends"):
        tool(wrong)
