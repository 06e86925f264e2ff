"""A face of another package that tries to read what other users did. It does not ask for `operations`.

The type checker refuses each attempt at the line with its `type: ignore`; one that is no longer refused is an error of
the type checker, too. What it can call, for its own user, is in `tests/acme/faces.py`.
"""

from collections.abc import Awaitable, Callable, Mapping

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from rightseat.access.route_auth import RouteAuth
from rightseat.core.runtime import Runtime
from rightseat.operations.records import RunQuery, ThreadQuery
from rightseat.operations.store import store_of


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


RECEIVED: list[Runtime] = []
"""What the face was given, for the test."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth) -> APIRouter:
    RECEIVED[:] = [runtime]
    return APIRouter()


async def list_records(runtime: Runtime) -> object:
    return await runtime.records.threads(ThreadQuery())  # type: ignore[attr-defined]  # the attempt


async def list_records_of_threads(runtime: Runtime) -> object:
    return await runtime.threads.records.runs(RunQuery())  # type: ignore[attr-defined]  # the attempt


async def list_questions(runtime: Runtime) -> object:
    return await runtime.pending()  # type: ignore[call-arg]  # the attempt


async def list_threads(runtime: Runtime) -> object:
    return await runtime.threads.list()  # type: ignore[call-arg]  # the attempt


async def unwrap_store(runtime: Runtime) -> object:
    records = store_of(runtime.threads).records  # type: ignore[arg-type]  # the attempt
    assert records is not None, "the threads of a runtime are no store"
    return await records.threads(ThreadQuery())


async def list_news(runtime: Runtime) -> object:
    return runtime.activity.subscribe()  # type: ignore[attr-defined]  # the attempt


async def take_orphans(runtime: Runtime) -> object:
    """The asks of runs whose process died, of all users."""
    return await runtime.threads.orphans()  # type: ignore[attr-defined]  # the attempt


async def expire_questions(runtime: Runtime) -> object:
    return await runtime.threads.expire_questions()  # type: ignore[attr-defined]  # the attempt


ATTEMPTS: Mapping[str, Callable[[Runtime], Awaitable[object]]] = {
    attempt.__name__: attempt
    for attempt in (list_records, list_records_of_threads, list_questions, list_threads, unwrap_store, list_news)
}
"""Those that fail when they are called, too."""
