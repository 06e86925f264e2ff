"""Texts that are part of no run, before guards: what becomes a vector, what was heard in a recording."""

import logging
from collections.abc import Sequence

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import Denied
from rightseat.core.guard import Guard
from rightseat.core.guarding import Chain
from rightseat.core.judging import TOGETHER, Judging
from rightseat.core.messages import user

logger = logging.getLogger(__name__)


class Texts:
    """Raises `Denied`, and `GuardFailed` where a guard cannot judge. `agent` is whom the text is for."""

    def __init__(self, guards: Sequence[Guard], patience: float = 10.0) -> None:
        self._guards = guards
        self._patience = patience
        self._judging = Judging(guards, patience)

    async def admit(self, texts: Sequence[str], agent: str, principal: Principal) -> None:
        """What somebody says, as a question. Several at once; where one is denied, it is found by halves."""
        if not self._guards or not texts:
            return
        is_one = len(texts) == 1
        if is_one or sum(map(len, texts)) <= TOGETHER:
            verdict = await self._judging.ask_all(asking(texts, agent, principal))
            if verdict.guard is None:
                return
            if is_one:
                logger.warning("the guard %s denies a text for %s", verdict.guard, agent)
                raise Denied(verdict.reason, verdict.guard)
        half = len(texts) // 2
        await self.admit(texts[:half], agent, principal)
        await self.admit(texts[half:], agent, principal)

    async def show(self, text: str, agent: str, principal: Principal) -> None:
        """What is about to be shown, as an answer."""
        chain = Chain(self._guards, asking((), agent, principal), self._patience)
        try:
            await chain.add(text)
            await chain.end()
        except Denied as denied:
            logger.warning("the guard %s denies a text of %s", denied.guard, agent)
            raise


def asking(texts: Sequence[str], agent: str, principal: Principal) -> Ask:
    return Ask(messages=tuple(map(user, texts)), agent=agent, principal=principal, transient=True)
