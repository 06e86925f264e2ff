"""The agents that the face offers to clients that use GraphQL."""

from collections.abc import Mapping

import msgspec

from rightseat.access.route_auth import RouteAuth
from rightseat.core.agent import AgentGroup, AgentThread
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import AgentNotFound
from rightseat.core.runtime import Runtime
from rightseat.faces.copilotkit.agents import list_members


class SchemaContext:
    """The agents that the face offers, by user. An agent group offers each member under its own name."""

    def __init__(self, runtime: Runtime, agents: tuple[str, ...] | None, default: str | None, auth: RouteAuth) -> None:
        self.runtime = runtime
        self.default = default
        self.auth = auth
        self._agents = agents

    @property
    def agents(self) -> tuple[str, ...]:
        if self._agents is not None:
            return self._agents
        return tuple(name for name in self.runtime.agents if name != self.default)

    async def resolve_agent(self, ask: Ask) -> str:
        """Return the runtime's name for the agent of the ask, which may name the face's default agent, too."""
        offered = tuple(dict.fromkeys((*self.agents, self.default))) if self.default is not None else self.agents
        listed = [one for one in offered if self.auth.may_use(ask.principal, one)]
        parts = [one for one in listed if isinstance(self.runtime.agents.get(one), AgentGroup)]
        plain = [one for one in offered if one not in parts]
        if ask.agent in plain and ask.agent in self.runtime.agents:
            self.auth.check_agent(ask.principal, ask.agent)
            return ask.agent
        known, problems = await list_members(self.runtime, parts, ask)
        for name, (part, _) in known.items():
            if name == ask.agent:
                return f"{part}/{name}"
        self.auth.check_agent(ask.principal, ask.agent)  # before an error reveals whether the name exists
        if problems:
            raise problems[0]
        raise AgentNotFound(ask.agent, (*plain, *known))


class ResolverContext:
    """The context of a resolver, limited to the agents that the user may use."""

    def __init__(self, context: SchemaContext, principal: Principal, headers: Mapping[str, str]) -> None:
        self.runtime = context.runtime
        self.principal = principal
        self._context = context
        self._headers = headers

    async def agents(self) -> dict[str, str]:
        """Return names → descriptions. Raises the error of an unreachable group only if no agent was found."""
        known = self.runtime.agents
        listed = [
            one for one in self._context.agents if one in known and self._context.auth.may_use(self.principal, one)
        ]
        parts = [one for one in listed if isinstance(known[one], AgentGroup)]
        found = {one: known[one].description for one in listed if one not in parts}
        more, problems = await list_members(self.runtime, parts, self._ask(""))
        found |= {name: description for name, (_, description) in more.items()}
        if problems and not found:
            raise problems[0]
        return found

    async def resolve_agent(self, name: str) -> str:
        return await self._context.resolve_agent(self._ask(name))

    async def agent_thread(self, agent: str, thread_id: str) -> AgentThread | None:
        """The thread as its agent stores it, for a thread that this server does not have."""
        return await self.runtime.agent_thread(msgspec.structs.replace(self._ask(agent), thread_id=thread_id))

    def _ask(self, agent: str) -> Ask:
        return Ask(messages=(), agent=agent, principal=self.principal, headers=self._headers)
