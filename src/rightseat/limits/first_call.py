"""Predicts the first model call of an ask, so that it is reserved in the transaction that admits the ask.

An agent adds its instructions and tools to the messages of an ask. They are mostly the same for each ask, so the last
first call of the agent says how large the next one is. A wrong prediction costs nothing: the call then gives the
reservation back and makes its own, in one transaction.
"""

import asyncio
from collections.abc import Sequence

from rightseat.limits.book import Admitted, Hold
from rightseat.limits.model_charge import ModelCharge
from rightseat.limits.rules import Charge

MAX_EXCESS = 8
"""A reservation that is more than an eighth too large is not used: other asks may need the difference."""


MAX_WAIT_S = 0.5
"""Between the admission and the first call. A process that stood still for longer may have been taken for dead, and its
reservation been settled; and other asks should not miss for longer what an agent does not use yet."""


class FirstCalls:
    """By agent: how much weight its last first call had beyond the messages of the ask."""

    def __init__(self) -> None:
        self._added_weight: dict[str, int] = {}

    def find(self, agent: str) -> int | None:
        """None if the agent did not call its own model at once."""
        return self._added_weight.get(agent)

    def record(self, agent: str, added_weight: int) -> None:
        self._added_weight[agent] = added_weight

    def forget(self, agent: str) -> None:
        self._added_weight.pop(agent, None)


class FirstCall:
    """The first model call of one ask: as it is predicted, and its reservation, which was made with the admission."""

    def __init__(self, agent: str, known: FirstCalls) -> None:
        self._agent = agent
        self._known = known
        self._expected: ModelCharge | None = None  # until a call is made
        self._until = 0.0  # when the reservation is too old for a call
        self.reserved: Admitted | None = None

    def expect(self, call: ModelCharge) -> None:
        self._expected = call

    def hold(self, admitted: Admitted) -> None:
        """Begins when the admission was sent: the process may have stood still before it received the response."""
        self.reserved = admitted.call
        self._until = admitted.sent_at + MAX_WAIT_S

    @property
    def is_late(self) -> bool:
        return asyncio.get_running_loop().time() > self._until

    def use(self, charges: Sequence[Charge]) -> Admitted | None:
        """The reservation, if it fits a call with these charges."""
        reserved = self.reserved
        if reserved is None or reserved.hold is None or self.is_late or not is_fitting(reserved.hold, charges):
            return None
        return self.take()

    def take(self) -> Admitted | None:
        """The reservation, which belongs to the caller from now on."""
        reserved, self.reserved = self.reserved, None
        return reserved

    def learn(self, call: ModelCharge, *, is_answer: bool) -> None:
        """Remember the first call, if the agent calls its own model for the answer at once."""
        expected, self._expected = self._expected, None
        if expected is None:
            return
        if is_answer and call.model_key == expected.model_key and not self.is_late:
            self._known.record(self._agent, call.prompt_weight - expected.ask_weight)
        else:
            self._known.forget(self._agent)


def is_fitting(hold: Hold, charges: Sequence[Charge]) -> bool:
    """Whether a predicted reservation is large enough for these charges, and not much too large."""
    held = {one.key: one.amount for one in hold.amounts}
    wanted = {one.key: one.amount for one in charges if one.amount}
    return held.keys() == wanted.keys() and all(
        wanted[key] <= amount <= wanted[key] + wanted[key] // MAX_EXCESS for key, amount in held.items()
    )
