"""Hooks that an application can add: before a run, after it, and on failure."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from rightseat.core.ask import Ask
from rightseat.core.errors import InternalError, RightseatError
from rightseat.core.messages import Message
from rightseat.core.run.outcome import Failure

logger = logging.getLogger(__name__)

BeforeRequest = Callable[[Ask], Awaitable[Ask | None]]
AfterRequest = Callable[[Ask, tuple[Message, ...]], Awaitable[None]]
OnError = Callable[[Ask, Failure], Awaitable[None]]
T = TypeVar("T")


@dataclass(slots=True)
class Hooks:
    """Functions of the application, called in the order in which they were added.

    `before_request` may return another ask, or raise a `RightseatError` to reject it. `after_request` receives the
    complete messages of the run; `on_error` receives the failure and where it happened. Exceptions of these two are
    logged and do not affect the client.
    """

    before_request: list[BeforeRequest] = field(default_factory=list)
    after_request: list[AfterRequest] = field(default_factory=list)
    on_error: list[OnError] = field(default_factory=list)

    async def before(self, ask: Ask) -> Ask:
        try:
            for hook in self.before_request:
                ask = await hook(ask) or ask
        except RightseatError:
            raise
        except Exception as error:
            logger.exception("run %s: a before_request hook failed", ask.run_id)
            raise InternalError(ask.run_id) from error
        return ask

    async def after(self, ask: Ask, messages: tuple[Message, ...]) -> None:
        for hook in self.after_request:
            await _safely(ask, hook, messages)

    async def error(self, ask: Ask, failure: Failure) -> None:
        for hook in self.on_error:
            await _safely(ask, hook, failure)


async def _safely(ask: Ask, hook: Callable[[Ask, T], Awaitable[None]], what: T) -> None:
    try:
        await hook(ask, what)
    except Exception:
        logger.exception("run %s: a hook failed", ask.run_id)
