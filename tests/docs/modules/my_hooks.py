"""A module that the configurations of the documentation name."""

from collections.abc import Sequence

from rightseat.core.ask import Ask
from rightseat.core.messages import Message
from rightseat.core.run.outcome import Failure


async def refuse_spam(ask: Ask) -> None:
    """Before a run."""


async def remember(ask: Ask, messages: Sequence[Message]) -> None:
    """After a run."""


async def complain(ask: Ask, failure: Failure) -> None:
    """When a run fails."""
