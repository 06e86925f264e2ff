"""`rightseat ask`"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from rightseat import app
from rightseat.cli import start
from rightseat.config import Config, in_memory
from rightseat.core.ask import Ask
from rightseat.core.errors import RightseatError
from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    TextDelta,
    TextEnded,
)
from rightseat.core.messages import user
from rightseat.core.model import Model


@click.command()
@click.argument("question")
@start.file_option
@click.option("--agent", help="Who answers.  [default: the agent named default, or the only one]")
def command(question: str, path: Path | None, agent: str | None) -> None:
    """Ask an agent, here in the terminal.

    The answer is streamed to stdout; calls of tools are shown on stderr.
    """
    start.set_up_logging()
    logging.getLogger("rightseat.core.failing").setLevel(logging.ERROR)  # the last line says it
    config = start.load(path)
    asyncio.run(converse(config, question, agent or answering(config.agents)))


def answering(agents: Mapping[str, object]) -> str:
    return "default" if "default" in agents or len(agents) != 1 else next(iter(agents))


async def converse(config: Config, question: str, agent: str) -> None:
    assembly = app.assemble(in_memory(config))
    async with assembly.opened():
        await wait_for(assembly.runtime.models.values())
        ask = await assembly.runtime.start(Ask(messages=(user(question),), agent=agent, transient=True))
        teller = Teller()
        async for entries in assembly.runtime.follow(ask.run_id):
            for entry in entries:
                teller.tell(entry.event)


async def wait_for(models: Iterable[Model]) -> None:
    """Until those that are being loaded are loaded: who asks once cannot come back later."""
    for model in models:
        if ready := getattr(model, "ready", None):
            await ready()


class Failed(RightseatError):
    """The run failed, and this is what its client is told."""


def unanswered(asked: Sequence[Interrupt]) -> str:
    """What a person would have to say before the run can go on."""
    questions = "".join(f"\n  {one.message}" for one in asked)
    return f"The run waits for a person, who cannot be asked here. A client such as CopilotKit asks:{questions}"


class Teller:
    """Shows a run as it happens."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, list[str]]] = {}

    def tell(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                click.echo(text, nl=False)
            case TextEnded():
                click.echo()
            case CallStarted(call_id=call, name=name):
                self._calls[call] = (name, [])
            case CallDelta(call_id=call, text=text):
                self._calls[call][1].append(text)
            case CallEnded(call_id=call):
                name, arguments = self._calls[call]
                click.echo(f"→ {name}({''.join(arguments)})", err=True)
            case CallReturned(name=name, content=content):
                click.echo(f"← {name}: {content}", err=True)
            case RunFailed(message=message):
                raise Failed(message)
            case RunFinished(outcome="waiting", interrupts=asked):
                raise Failed(unanswered(asked))
            case _:
                pass  # the rest has nothing to show in a terminal
