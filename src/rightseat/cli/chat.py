"""`rightseat chat`: a conversation with an agent in the terminal."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click

from rightseat.cli import setup
from rightseat.cli.ask import choose_agent, set_up_terminal_logging
from rightseat.cli.conversation import TerminalConversation, open_runtime
from rightseat.cli.markdown import MarkdownPrinter
from rightseat.cli.terminal_answers import is_attended, prompt_for_answer
from rightseat.config import Config, in_memory
from rightseat.core.ask import Answer
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.core.events import Interrupt
from rightseat.stores.databases import DatabaseInUse


@click.command()
@setup.file_option
@click.option("--agent", help="The agent to chat with.  [default: the agent named default, or the only one]")
@click.option("--thread", "thread_id", metavar="ID", help="Continue this thread.")
def command(path: Path | None, agent: str | None, thread_id: str | None) -> None:
    """Chat with an agent in the terminal.

    No server is needed. You are asked for approvals. Ctrl-C stops a response, Ctrl-D ends the chat. The thread is
    stored, unless a server is using the database.
    """
    if not is_attended():
        raise ConfigError("`rightseat chat` needs a terminal. Without one, use `rightseat ask QUESTION`.")
    os.umask(0o077)  # the database is for its own user only
    set_up_terminal_logging()
    config = setup.load(path)
    try:
        stored = chat(config, agent, thread_id)
    except DatabaseInUse as error:
        if thread_id is not None:
            raise
        click.echo(f"This chat is not stored: {error.message}", err=True)
        chat(in_memory(config), agent, None)
        return
    if stored:
        where = f" -c {path}" if path else ""
        click.echo(f"Continue with: rightseat chat{where} --thread {stored}", err=True)


def chat(config: Config, agent: str | None, thread_id: str | None) -> str | None:
    """Returns the id of the thread, or None if nothing was asked."""
    with open_runtime(config) as (runtime, portal):
        chosen = agent or choose_agent(config.agents)
        conversation = TerminalConversation(runtime, portal, chosen, MarkdownPrinter().print, prompt_or_refuse)
        pending = conversation.resume(thread_id, agent) if thread_id else ()
        click.echo("Ctrl-C stops a response, Ctrl-D ends the chat.", err=True)
        take_turn(lambda: conversation.answer(pending))
        for question in read_questions():
            thread_id = conversation.thread_id
            take_turn(lambda question=question: conversation.ask(question))  # type: ignore[misc]  # bound in the loop
    return thread_id


def take_turn(work: Callable[[], None]) -> None:
    """A failed or stopped run does not end the chat."""
    try:
        work()
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
    except RightseatError as error:
        click.echo(f"Error: {error.message}", err=True)


def prompt_or_refuse(interrupt: Interrupt) -> Answer:
    """Ctrl-C and Ctrl-D cancel the question: a call that needs approval is then not run."""
    try:
        return prompt_for_answer(interrupt)
    except click.Abort:
        click.echo(err=True)
        return Answer(interrupt.id, "cancelled", memo=interrupt.memo)


def read_questions() -> Iterator[str]:
    """The lines of the person, until Ctrl-D. Ctrl-C discards a line."""
    with suppress(ImportError):
        import_module("readline")  # `input` then edits lines and keeps a history; not on Windows
    while True:
        try:
            question = input("> ").strip()
        except KeyboardInterrupt:
            click.echo(err=True)
            continue
        except EOFError:
            click.echo(err=True)
            return
        if question:
            yield question
