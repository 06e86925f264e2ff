"""Headers for one request, made by a function of the operator's."""

import asyncio
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ConfigError, HeaderHookFailed, Unauthenticated
from rightseat.core.messages import user
from rightseat.egress import headers
from rightseat.egress.headers import RequestHeaders

ASK = Ask(
    messages=(user("Hi"),),
    thread_id="t1",
    principal=Principal("anna"),
    properties={"tenant": "acme"},
    headers={"X-Tenant": "acme", "authorization": "Bearer caller"},
)


@pytest.fixture
def hooks() -> Iterator[ModuleType]:
    """An empty module that hooks can be put into."""
    module = ModuleType("header_hooks_of_this_test")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def given(module: ModuleType, hook: object, fixed: dict[str, str] | None = None, *forward: str) -> RequestHeaders:
    module.hook = hook  # type: ignore[attr-defined]  # that is how the configuration finds it
    return RequestHeaders(fixed or {}, forward, f"{module.__name__}:hook")


def returning(value: object) -> Any:
    async def hook(ask: Ask) -> object:
        return value

    return hook


def raising(error: BaseException) -> Any:
    async def hook(ask: Ask) -> dict[str, str]:
        raise error

    return hook


async def test_the_hook_receives_user_thread_properties_and_forwarded_headers(hooks: ModuleType) -> None:
    async def hook(ask: Ask) -> dict[str, str]:
        return {"X-For": f"{ask.principal.id} {ask.thread_id} {ask.properties['tenant']} {ask.headers['X-Tenant']}"}

    assert await given(hooks, hook).make(ASK) == {"x-for": "anna t1 acme acme"}


async def test_headers_of_the_hook_replace_forwarded_ones(hooks: ModuleType) -> None:
    made = await given(hooks, returning({"X-TENANT": "checked"}), None, "x-tenant").make(ASK)

    assert made == {"x-tenant": "checked"}


async def test_without_a_hook_only_the_listed_headers_are_forwarded() -> None:
    assert await RequestHeaders({}, ("x-tenant",)).make(ASK) == {"x-tenant": "acme"}


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (None, "returned NoneType instead of a mapping"),
        (["x-a"], "returned list instead of a mapping"),
        ({"x-a": 1}, "the header 'x-a' must both be str"),
        ({1: "s3cret"}, "the header 1 must both be str"),
        ({"x a": "s3cret"}, "a header cannot be named 'x a'"),
        ({"x-a": "s3cret\r\nx-b: 1"}, "the header 'x-a' should be one line of plain characters"),
        ({"Host": "elsewhere"}, "the server sets the header 'Host' itself"),
        ({"Content-Length": "0"}, "the server sets the header 'Content-Length' itself"),
        ({"X-Key": "s3cret"}, "the header 'X-Key' is set in the configuration as well"),
        ({"x-a": "s3cret" * 4000}, "at most 16,384 are sent"),
    ],
)
async def test_an_invalid_header_is_refused_without_its_value(
    hooks: ModuleType, returned: object, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(HeaderHookFailed) as raised:
        await given(hooks, returning(returned), {"x-key": "ours"}).make(ASK)

    assert problem in raised.value.message
    assert "header_hooks_of_this_test:hook" in raised.value.message
    assert "s3cret" not in raised.value.message + caplog.text


async def test_an_exception_of_a_hook_is_logged_and_the_client_gets_only_an_error_code(
    hooks: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(HeaderHookFailed) as raised:
        await given(hooks, raising(ConnectionError("the vault at 10.0.0.7 is sealed"))).make(ASK)

    assert "it raised ConnectionError" in raised.value.message
    assert "10.0.0.7" not in raised.value.message
    assert "10.0.0.7" in caplog.text


async def test_a_hook_may_refuse_with_an_error_of_its_own(hooks: ModuleType) -> None:
    with pytest.raises(Unauthenticated, match="Log in first"):
        await given(hooks, raising(Unauthenticated("Log in first."))).make(ASK)


async def test_a_hook_that_never_returns_times_out(hooks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "HOOK_TIMEOUT_S", 0.01)

    async def hook(ask: Ask) -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    with pytest.raises(HeaderHookFailed, match="did not return within"):
        await given(hooks, hook).make(ASK)


def test_a_hook_that_is_not_async_is_refused_when_the_server_is_built(hooks: ModuleType) -> None:
    with pytest.raises(ConfigError, match="should be an async function"):
        given(hooks, lambda ask: {})


def test_a_missing_hook_is_refused_when_the_server_is_built() -> None:
    with pytest.raises(ConfigError, match="there is no module"):
        RequestHeaders({}, (), "no_such_module:hook")
