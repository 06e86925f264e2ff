"""What an operator may see and change of the data of other users.

What an operator may not see does not exist for it (404). What it sees and may not read or change is refused (403).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

from rightseat.core.ask import AgentNames, Principal, includes_agent
from rightseat.core.errors import InsufficientScope, RightseatError

Right = Literal["watch", "read", "act", "author"]


class OperatorNotFound(RightseatError):
    code = "not_found"
    status = 404


@dataclass(frozen=True, slots=True)
class OperatorRights:
    """What a credential allows with the data of other users, each for these agents.

    `watch` shows runs without any text, `read` adds the text, `act` allows to answer questions and to stop runs, and
    `author` to change plugins. `usage` shows what all users used.
    """

    watch: AgentNames = ()
    read: AgentNames = ()
    act: AgentNames = ()
    author: AgentNames = ()
    usage: bool = False

    @property
    def agents(self) -> Mapping[str, AgentNames]:
        """For which agents each right of the face of operators holds."""
        return {"watch": self.watch, "read": self.read, "act": self.act, "author": self.author}

    @property
    def are_all(self) -> bool:
        """Each of them for all agents, as `operator.*:*` gives them."""
        return all(names is None for names in self.agents.values())

    @property
    def is_empty(self) -> bool:
        """`usage` alone is a right at the face of that name."""
        return all(names == () for names in self.agents.values())

    @property
    def includes_usage(self) -> bool:
        """What all users used. The right to watch all agents shows it, too."""
        return self.usage or self.watch is None


ALL_RIGHTS = OperatorRights(None, None, None, None, usage=True)
"""Without keys there is one user, who sees everything anyway."""


@dataclass(frozen=True, slots=True)
class Operator:
    """Who calls a method of `Operations`: a user, with the rights of its credential for the data of others."""

    principal: Principal
    rights: OperatorRights = OperatorRights()

    @property
    def id(self) -> str:
        return self.principal.id

    def is_own(self, owner: str, agent: str) -> bool:
        return owner == self.id and self.principal.may_use(agent)

    def may_watch(self, owner: str, agent: str) -> bool:
        return self.is_own(owner, agent) or includes_agent(self.rights.watch, agent)

    def check_any(self, right: Right, agent: str = "*") -> None:
        """Raises `InsufficientScope` without the right for any agent. `agent` is the one that the message names."""
        if self.rights.agents[right] == ():
            forbid(right, agent)

    def check_all(self, right: Right) -> None:
        """Raises `InsufficientScope` without the right for all agents: what is wanted is not divided by agent."""
        if self.rights.agents[right] is not None:
            forbid(right, "*")


def forbid(right: Right, agent: str) -> NoReturn:
    """Raises `InsufficientScope`."""
    scope = f"operator.{right}:{agent}"
    raise InsufficientScope(f"This credential lacks the scope {scope!r}. Ask an operator for one that has it.")


def intersect(left: AgentNames, right: AgentNames) -> AgentNames:
    """The agents that both include."""
    if left is None or right is None:
        return right if left is None else left
    both = [agent for agent in left if includes_agent(right, agent)]
    return tuple(dict.fromkeys([*both, *(agent for agent in right if includes_agent(left, agent))]))
