"""Predicts the first model call of an ask, so that it is reserved in the transaction that admits the ask.

An agent adds its instructions and tools to the messages of an ask. They are mostly the same for each ask, so the last
first call of the agent says how large the next one is. A wrong prediction costs nothing: the call then gives the
reservation back and makes its own, in one transaction.
"""

from collections.abc import Sequence

from rightseat.core.limits.book import Hold
from rightseat.core.limits.rules import Charge

MAX_EXCESS = 8
"""A reservation that is more than an eighth too large is not used: other asks may need the difference."""


MAX_WAIT_S = 0.5
"""Between the admission and the first call. A process that stood still for longer may have been taken for dead, and its
reservation been settled; and other asks should not miss for longer what an agent does not use yet."""


class FirstCalls:
    """By agent: how many bytes its last first call had beyond the messages of the ask."""

    def __init__(self) -> None:
        self._added_bytes: dict[str, int] = {}

    def find(self, agent: str) -> int | None:
        """None if the agent did not call its own model at once."""
        return self._added_bytes.get(agent)

    def record(self, agent: str, added_bytes: int) -> None:
        self._added_bytes[agent] = added_bytes

    def forget(self, agent: str) -> None:
        self._added_bytes.pop(agent, None)


def is_fitting(hold: Hold, charges: Sequence[Charge]) -> bool:
    """Whether a predicted reservation is large enough for these charges, and not much too large."""
    held = {one.key: one.amount for one in hold.amounts}
    wanted = {one.key: one.amount for one in charges if one.amount}
    return held.keys() == wanted.keys() and all(
        wanted[key] <= amount <= wanted[key] + wanted[key] // MAX_EXCESS for key, amount in held.items()
    )
