"""Each toolbox lists its tools: MCP servers start and respond, and plugins have what they need."""

import asyncio
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rightseat.config import ConfiguredPart, written_value
from rightseat.core.ask import Ask
from rightseat.core.errors import AgentError
from rightseat.core.messages import user
from rightseat.core.tools import Toolbox
from rightseat.egress.redaction import MASK, SECRET_NAME
from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix, known, split_advice

MAX_LISTED_TOOLS = 8
MCP_TIMEOUT_S = 60.0  # `npx` and `uvx` may have to download the server first
PLUGIN_ADVICE = "Correct the plugin or `folders`. `rightseat plugin check` shows every problem of a plugin."
ASK = Ask(messages=(user("Which tools do you have?"),), transient=True)


def check_toolboxes(context: CheckContext) -> Iterator[Check]:
    for name, part in context.config.toolboxes.items() if context.config else ():
        subject = f"toolboxes.{name}"
        check_id, title = (
            ("mcp", "The MCP server starts") if part.type == "mcp" else ("toolbox", "The tools are listed")
        )
        if failure := context.failures.get(subject):
            yield Check(
                check_id,
                subject,
                title,
                known(CheckOutcome("error", *split_advice(str(failure), f"Correct {subject}."))),
            )
        elif toolbox := context.toolboxes.get(name):
            yield Check(
                check_id, subject, title, partial(judge_tools, toolbox, name, part, context.file), MCP_TIMEOUT_S
            )


async def judge_tools(toolbox: Toolbox, name: str, part: ConfiguredPart, file: Path) -> CheckOutcome:
    try:
        tools = await toolbox.tools(ASK)
    except AgentError as error:
        return explain(error, name, part, file)
    names = ", ".join(tool.name for tool in tools[:MAX_LISTED_TOOLS])
    more = " …" if len(tools) > MAX_LISTED_TOOLS else ""
    return CheckOutcome("ok", f"{len(tools)} tools{': ' if names else ''}{names}{more}.")


def explain(error: AgentError, name: str, part: ConfiguredPart, file: Path) -> CheckOutcome:
    """The notes of the error hold the address and the cause, which clients do not get."""
    cause = " ".join([error.message, *getattr(error, "__notes__", ())])
    command = getattr(part.options, "command", None)
    if command is None:
        fix = Fix(f"Start the server, or correct toolboxes.{name}.url.", docs="how-to/use-mcp-servers")
        return CheckOutcome("error", cause, fix)
    text = (
        "Run the command in a terminal: it should start and wait for input. If it is missing, install it, or correct "
        f"toolboxes.{name}.command."
    )
    line = " ".join(map(quote, (command, *list_arguments(name, part, file))))
    return CheckOutcome("error", cause, Fix(text, line, docs="how-to/use-mcp-servers"))


def quote(argument: str) -> str:
    """For a shell, which expands a `${…}`."""
    return f'"{argument}"' if "${" in argument else shlex.quote(argument)


def list_arguments(name: str, part: ConfiguredPart, file: Path) -> Iterator[str]:
    """The arguments as they are in the file, with `${…}`; a literal that its option marks as a secret is masked."""
    previous = ""
    for index, argument in enumerate(getattr(part.options, "args", ())):
        option, equals, _ = argument.partition("=")
        if equals and SECRET_NAME.search(option):
            yield f"{option}={MASK}"
        elif previous.startswith("-") and "=" not in previous and SECRET_NAME.search(previous):
            yield MASK
        else:
            yield written_value(file, ("toolboxes", name, "args", index)) or argument
        previous = argument


def check_plugins(context: CheckContext) -> Iterator[Check]:
    """What `rightseat check` warns of: plugins with errors, and missing secrets, addresses and databases."""
    for name, part in context.config.toolboxes.items() if context.config else ():
        if hasattr(part.module, "warn"):
            run = partial(asyncio.to_thread, judge_plugins, part)
            yield Check("plugins", f"toolboxes.{name}", "Plugins load and have what they need", run)


def judge_plugins(part: ConfiguredPart) -> list[CheckOutcome]:
    found = [explain_plugin(line) for line in part.module.warn(part.options)]
    return found or [CheckOutcome("ok", "Every plugin loads and has what it needs.")]


def explain_plugin(line: str) -> CheckOutcome:
    """`The plugin weather needs the secret KEY: set RIGHTSEAT_SECRET_KEY.`"""
    cause, colon, advice = line.rpartition(": ")
    if colon and " needs the " in cause:
        return CheckOutcome("warning", f"{cause}.", Fix(f"{advice[:1].upper()}{advice[1:]}"))
    return CheckOutcome("warning", *split_advice(line, PLUGIN_ADVICE))
