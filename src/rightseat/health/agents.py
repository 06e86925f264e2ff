"""Each agent can be used: the server of a remote one responds, and the tools of the others are listed."""

from collections.abc import Iterator
from functools import partial

from rightseat.config import ConfiguredPart
from rightseat.core.agent import Agent, AgentGroup, ExposesTools
from rightseat.core.errors import AgentError
from rightseat.egress.client import Client
from rightseat.egress.network import NetworkOptions
from rightseat.egress.transport import TransportError
from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix, known, split_advice
from rightseat.health.readiness import address_of
from rightseat.health.toolboxes import ASK, MCP_TIMEOUT_S

REMOTE_TIMEOUT_S = 8.0


def check_agents(context: CheckContext) -> Iterator[Check]:
    for name, part in context.config.agents.items() if context.config else ():
        subject, title = f"agents.{name}", "The agent can be used"
        if failure := context.failures.get(subject):
            yield Check(
                "agent",
                subject,
                title,
                known(CheckOutcome("error", *split_advice(str(failure), f"Correct {subject}."))),
            )
        elif agent := context.agents.get(name):
            yield Check("agent", subject, title, partial(judge_agent, agent, subject, part), MCP_TIMEOUT_S)


async def judge_agent(agent: Agent, subject: str, part: ConfiguredPart) -> CheckOutcome:
    if isinstance(agent, AgentGroup):
        return await judge_group(agent, subject, part)
    if url := getattr(part.options, "url", None):
        return await judge_remote(url, subject, part)
    if isinstance(agent, ExposesTools):
        return await judge_tools(agent, part)
    return CheckOutcome("ok", f"{part.type}.")


async def judge_tools(agent: ExposesTools, part: ConfiguredPart) -> CheckOutcome:
    tools, problems = await agent.tools(ASK)
    text = f"{part.type}, {len(tools)} tools."
    if problems:
        return CheckOutcome("warning", " ".join((text, *problems)), Fix("Correct the toolboxes that fail."))
    return CheckOutcome("ok", text)


async def judge_group(agent: AgentGroup, subject: str, part: ConfiguredPart) -> CheckOutcome:
    url = address_of(getattr(part.options, "url", ""))
    try:
        members = await agent.members(ASK)
    except AgentError as error:
        return CheckOutcome(
            "error", f"{url}: {error.message}", Fix(f"Start the server of the agents, or correct {subject}.url.")
        )
    return CheckOutcome("ok", f"{url}: {', '.join(members) or 'no agents'}.")


async def judge_remote(url: str, subject: str, part: ConfiguredPart) -> CheckOutcome:
    """`OPTIONS` starts no run; a server without the path answers it with 404."""
    network = part.options if isinstance(part.options, NetworkOptions) else None
    client = Client(url, read_headers(part), timeout=REMOTE_TIMEOUT_S, network=network)
    try:
        async with client.request("OPTIONS", "", b"") as response:
            status = response.status
    except TransportError as error:
        text = f"Cannot reach the server of the agent at {address_of(url)}: {error}"
        return CheckOutcome("error", text, Fix(f"Start the server of the agent, or correct {subject}.url."))
    finally:
        await client.aclose()
    if status == 404 and part.type == "agui":
        fix = Fix(f"Set {subject}.url to the address that an AG-UI client would POST to.", docs="how-to/bring-an-agent")
        return CheckOutcome(
            "error", f"The server at {address_of(url)} returned HTTP 404: it has no agent at this path.", fix
        )
    return CheckOutcome("ok", f"The server at {address_of(url)} responds.")


def read_headers(part: ConfiguredPart) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in getattr(part.options, "headers", {}).items()}
