"""`rightseat ask`: runs an agent once and prints its response."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

import click

from rightseat.cli import setup
from rightseat.cli.conversation import TerminalConversation, open_runtime
from rightseat.cli.plain_text import remove_control_characters
from rightseat.cli.terminal_answers import is_attended, prompt_for_answer
from rightseat.config import in_memory
from rightseat.core import events as e


@click.command()
@click.argument("question")
@setup.file_option
@click.option("--agent", help="The agent to run.  [default: the agent named default, or the only one]")
def command(question: str, path: Path | None, agent: str | None) -> None:
    """Send one question to an agent and print the response.

    No server is needed. The response is streamed to stdout; tool calls and their results go to stderr. At a terminal
    you are asked for approvals.
    """
    set_up_terminal_logging()
    config = setup.load(path)
    with open_runtime(in_memory(config)) as (runtime, portal):
        prompt = prompt_for_answer if is_attended() else None
        TerminalConversation(runtime, portal, agent or choose_agent(config.agents), RunPrinter().print, prompt).ask(
            question
        )


def set_up_terminal_logging() -> None:
    """Only problems that the person does not see otherwise: neither failed runs nor the person's own decisions."""
    setup.set_up_logging(level="warning")
    logging.getLogger("rightseat.core.run.outcome").setLevel(logging.ERROR)
    logging.getLogger("rightseat.audit").setLevel(logging.WARNING)


def choose_agent(agents: Mapping[str, object]) -> str:
    return "default" if "default" in agents or len(agents) != 1 else next(iter(agents))


class RunPrinter:
    """Prints a run while it happens."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, list[str]]] = {}

    def print(self, event: e.Event) -> None:
        match event:
            case e.TextDelta(text=text):
                click.echo(text, nl=False)
            case e.TextEnded():
                click.echo()
            case e.ToolCallStarted(call_id=call, name=name):
                self._calls[call] = (name, [])
            case e.ToolCallDelta(call_id=call, text=text):
                self._calls[call][1].append(text)
            case e.ToolCallEnded(call_id=call):
                name, arguments = self._calls[call]
                click.echo(remove_control_characters(f"→ {name}({''.join(arguments)})"), err=True)
            case e.ToolCallReturned(name=name, content=content):
                click.echo(remove_control_characters(f"← {name}: {content}"), err=True)
            case e.RunStarted() | e.RunFinished() | e.RunFailed() | e.ModelResponseEnded() | e.MessagesReplaced():
                pass  # the command tells how the run ended
            case e.TextStarted() | e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded():
                pass
            case e.StepStarted() | e.StepEnded() | e.SpanStarted() | e.SpanEnded():
                pass
            case e.StateReplaced() | e.StateChanged() | e.Custom():
                pass  # nothing to print
            case _:
                assert_never(event)
