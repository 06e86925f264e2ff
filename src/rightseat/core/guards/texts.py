"""Checks texts that belong to no run with guards, such as texts to embed and transcripts of recordings."""

import logging
from collections.abc import Sequence

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import GuardDenied
from rightseat.core.guard import Guard
from rightseat.core.guards.pipeline import TextFilterChain
from rightseat.core.guards.verdicts import MAX_BATCH_CHARS, QuestionChecker
from rightseat.core.messages import user

logger = logging.getLogger(__name__)


class TextGuard:
    """Raises `GuardDenied`, or `GuardFailed` if a guard fails. `agent` is the agent that the text is for or from."""

    def __init__(self, guards: Sequence[Guard], timeout: float = 10.0) -> None:
        self._guards = guards
        self._timeout = timeout
        self._checker = QuestionChecker(guards, timeout)

    async def check_input(self, texts: Sequence[str], agent: str, principal: Principal) -> None:
        """Check texts of a user as questions, all in one call; if they are denied, bisect to find the denied one."""
        if not self._guards or not texts:
            return
        is_one = len(texts) == 1
        if is_one or sum(map(len, texts)) <= MAX_BATCH_CHARS:
            verdict = await self._checker.ask_all(build_ask(texts, agent, principal))
            if verdict.guard is None:
                return
            if is_one:
                logger.warning("the guard %s denied a text for %s", verdict.guard, agent)
                raise GuardDenied(verdict.reason, verdict.guard)
        half = len(texts) // 2
        await self.check_input(texts[:half], agent, principal)
        await self.check_input(texts[half:], agent, principal)

    async def check_output(self, text: str, agent: str, principal: Principal) -> None:
        """Check a text before it is shown, as a response."""
        chain = TextFilterChain(self._guards, build_ask((), agent, principal), self._timeout)
        try:
            await chain.add(text)
            await chain.end()
        except GuardDenied as denied:
            logger.warning("the guard %s denied a text of %s", denied.guard, agent)
            raise


def build_ask(texts: Sequence[str], agent: str, principal: Principal) -> Ask:
    return Ask(messages=tuple(map(user, texts)), agent=agent, principal=principal, transient=True)
