"""A conversation with an agent in the terminal.

Runs are executed by an event loop in a thread of its own: connections stay alive while the main thread waits for input,
and Ctrl-C reaches the main thread at once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from typing import assert_never

from anyio.from_thread import BlockingPortal, start_blocking_portal

from rightseat import app
from rightseat.cli.progress import Waiting, show_progress
from rightseat.config import Config
from rightseat.core import events as e
from rightseat.core.approvals import APPROVAL
from rightseat.core.ask import ANYONE, Answer, Ask
from rightseat.core.errors import RightseatError, ThreadNotFound
from rightseat.core.ids import new_id
from rightseat.core.messages import Message, user
from rightseat.core.model import Model, SupportsReadiness
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Thread

POLL_INTERVAL_S = 0.2  # Windows delivers Ctrl-C only between two waits

Show = Callable[[e.Event], None]
Prompt = Callable[[e.Interrupt], Answer]
"""Asks the person at the terminal."""


class CommandFailed(RightseatError):
    """The run or flow of a command failed, with the message that a client would receive."""


@contextmanager
def open_runtime(config: Config) -> Iterator[tuple[Runtime, BlockingPortal]]:
    """The runtime of the configuration, with its models loaded, and the portal to its event loop."""
    assembly = app.assemble(config)
    with ExitStack() as stack:
        with show_progress("Starting models and tools"):
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(assembly.opened()))
            portal.call(wait_for_models, assembly.runtime.models.values())
        yield assembly.runtime, portal


async def wait_for_models(models: Iterable[Model]) -> None:
    """Wait until models are loaded: a run in the terminal is not retried later."""
    for model in models:
        if isinstance(model, SupportsReadiness):
            await model.wait_until_ready()


class TerminalConversation:
    """One thread with one agent. `prompt` asks the person; None if there is no person to ask.

    Without a person, runs are transient: tools and flows do not wait for an answer that cannot come.
    """

    def __init__(self, runtime: Runtime, portal: BlockingPortal, agent: str, show: Show, prompt: Prompt | None) -> None:
        self.thread_id = new_id("thread")
        self._runtime = runtime
        self._portal = portal
        self._agent = agent
        self._show = show
        self._prompt = prompt
        self._tools: dict[str, str] = {}

    def resume(self, thread_id: str, agent: str | None) -> Sequence[e.Interrupt]:
        """Continue a stored thread, with its own agent unless another is given. Returns its pending interrupts."""
        thread = self._load(thread_id)
        if thread is None:
            raise ThreadNotFound(thread_id)
        self.thread_id = thread_id
        self._agent = agent or (thread.runs[-1].agent if thread.runs else self._agent)
        return [one.interrupt for one in self._portal.call(self._runtime.pending, ANYONE, thread_id)]

    def ask(self, question: str) -> None:
        """Run the agent until it has responded. Raises `CommandFailed`; Ctrl-C stops the run and is raised again."""
        self.answer(self._run((*self._messages(), user(question))))

    def answer(self, interrupts: Sequence[e.Interrupt]) -> None:
        """Ask the person for the answers, and run the agent with them, until it asks nothing more."""
        while interrupts:
            if self._prompt is None:
                raise CommandFailed(self._explain(interrupts))
            answers = tuple(map(self._prompt, interrupts))
            interrupts = self._run(self._messages(), answers)

    def _run(self, messages: tuple[Message, ...], answers: tuple[Answer, ...] = ()) -> Sequence[e.Interrupt]:
        ask = Ask(
            messages=messages,
            answers=answers,
            agent=self._agent,
            thread_id=self.thread_id,
            transient=self._prompt is None,
        )
        running = self._portal.start_task_soon(self._follow, ask)
        try:
            last = wait_for(running)
        except KeyboardInterrupt:
            if not self._portal.call(self._runtime.cancel, ask.run_id):
                running.cancel()  # it has not started yet
            wait((running,))
            raise
        if isinstance(last, e.RunFailed):
            raise CommandFailed(last.message)
        return last.interrupts

    async def _follow(self, ask: Ask) -> e.RunFinished | e.RunFailed:
        last: e.RunFinished | e.RunFailed = e.RunFinished("done")
        await self._runtime.start(ask)
        with Waiting("Waiting for the response") as waiting:
            async for entries in self._runtime.follow(ask.run_id):
                for entry in entries:
                    if is_shown(entry.event):
                        waiting.end()
                    self._show(entry.event)
                    match entry.event:
                        case e.ToolCallStarted(call_id=call, name=name):
                            self._tools[call] = name
                        case e.ToolCallReturned():
                            waiting.begin()
                        case e.RunFinished() | e.RunFailed() as last:
                            pass
        return last

    def _explain(self, interrupts: Sequence[e.Interrupt]) -> str:
        """Why the run cannot go on without a person, and the lines of the configuration that avoid the question."""
        questions = "".join(f"\n  {one.message}" for one in interrupts)
        text = f"The run waits for a person, and there is no terminal to ask at:{questions}\n"
        tools = [self._tools.get(one.call_id or "", "") for one in interrupts if one.reason == APPROVAL]
        if not tools or not all(tools):
            return f"{text}Run the command at a terminal, or use a client that shows the question."
        return (
            f"{text}Run the command at a terminal, or allow the call in the configuration: `approval: never` under "
            f"agents.{self._agent}; or, for a tool of an MCP server that only reads, "
            f"`read_only_tools: [{', '.join(tools)}]` under its toolbox."
        )

    def _messages(self) -> tuple[Message, ...]:
        thread = None if self._prompt is None else self._load(self.thread_id)
        return thread.messages if thread else ()

    def _load(self, thread_id: str) -> Thread | None:
        return self._portal.call(self._runtime.settled, thread_id, ANYONE)


def is_shown(event: e.Event) -> bool:
    """Whether a person sees something of it; otherwise the response is still awaited."""
    match event:
        case e.TextDelta() | e.TextEnded() | e.ToolCallEnded() | e.ToolCallReturned():
            return True
        case e.RunFinished() | e.RunFailed():
            return True
        case e.RunStarted() | e.ModelResponseEnded() | e.MessagesReplaced() | e.Custom():
            return False
        case e.SpanStarted() | e.SpanEnded() | e.StepStarted() | e.StepEnded():
            return False
        case e.StateReplaced() | e.StateChanged():
            return False
        case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded():
            return False
        case e.TextStarted() | e.ToolCallStarted() | e.ToolCallDelta():
            return False
        case _:
            assert_never(event)


def wait_for(running: Future[e.RunFinished | e.RunFailed]) -> e.RunFinished | e.RunFailed:
    while not wait((running,), POLL_INTERVAL_S).done:
        pass
    return running.result()
