"""The built-in agent: it calls a model, runs the tools that the model calls, and repeats."""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

import msgspec
from pydantic import JsonValue

from rightseat.concurrency import aclosing
from rightseat.core.agent import ListsPlugins, PluginSummary
from rightseat.core.ask import Ask, Context, Parameters, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import MaxTurnsExceeded, RightseatError
from rightseat.core.events import Custom, Event, ModelResponseEnded, RunFinished
from rightseat.core.loop import continuation
from rightseat.core.loop.history import repair_history
from rightseat.core.loop.tool_calls import calls_in, resume_calls, run_calls, was_stopped
from rightseat.core.loop.toolset import ApprovalPolicy, gather
from rightseat.core.messages import Call, Message, Text
from rightseat.core.model import MODEL_SPAN, Model, Prompt, model_name, select_model, start_model_span
from rightseat.core.run.outcome import mark_origin
from rightseat.core.stream.framer import MAX_RESPONSE_CHARS
from rightseat.core.stream.reducer import Reducer
from rightseat.core.tools import EmitsEvents, HasInstructions, InterceptsAsk, Tool, Toolbox
from rightseat.core.tracing import NO_OBSERVER, Span, error_name
from rightseat.core.usage import count_usage
from rightseat.turns import take_turn

logger = logging.getLogger(__name__)


class Loop:
    """Call the model, run the tools it calls, and call it again with their results, until it calls no tool.

    A call to a tool that runs on the client ends the run; the client sends the result in its next request.
    """

    def __init__(
        self,
        model: Model,
        toolboxes: Sequence[Toolbox] = (),
        *,
        instructions: str | None = None,
        description: str = "",
        max_turns: int = 16,
        approval: ApprovalPolicy = "writes",
        durable: bool = False,
        max_response_chars: int = MAX_RESPONSE_CHARS,
    ) -> None:
        self.model = model
        self.toolboxes = toolboxes
        # Checked once, not in every run: isinstance with a protocol is slow.
        self._intercepting = [toolbox for toolbox in toolboxes if isinstance(toolbox, InterceptsAsk)]
        self._emitting = [toolbox for toolbox in toolboxes if isinstance(toolbox, EmitsEvents)]
        self._instructing = [toolbox for toolbox in toolboxes if isinstance(toolbox, HasInstructions)]
        self.instructions = instructions
        self.description = description
        self.max_turns = max_turns
        self.approval = approval
        self.durable = durable
        self.max_response_chars = max_response_chars

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if (intercepted := self._intercept(ask)) is not None:
            async with aclosing(intercepted) as events:
                async for event in events:
                    yield event
            return
        tools, missing = await self.tools(ask)
        for event in self._notices(ask, tools, missing):
            yield event
        turn = Reducer()
        if ask.answers:
            async with aclosing(resume_calls(ask, tools, steps)) as events:
                async for event in events:
                    turn.add(event)
                    yield event
                    if type(event) is RunFinished:
                        return
            if was_stopped(ask, tools):
                return
        await take_turn()
        history = self._history(ask, turn)
        await take_turn()
        conversation = Conversation(ask, tools, history, self.max_turns)
        while (prompt := conversation.next_prompt()) is not None:
            turn = Reducer()
            # One generator for all turns: each additional generator costs 0.2 µs per text delta.
            call = ModelCall(select_model(self.model), prompt)
            async with call.open(self._answer(ask, call, steps, conversation)) as events:
                async for event in events:
                    turn.add(event)
                    if type(event) is ModelResponseEnded:
                        log_truncation(event, ask)
                        call.note(event)
                    yield event
            if not (calls := conversation.calls_of(turn)):
                return
            async with aclosing(run_calls(calls, conversation.tools, ask, steps, turn.cut_calls)) as events:
                async for event in events:
                    turn.add(event)
                    yield event
                    if type(event) is RunFinished:
                        return
            if all(call.id in turn.cut_calls for call in calls) or is_complete(turn.messages(), conversation.tools):
                return
            conversation.add(turn)

    def _notices(self, ask: Ask, tools: Mapping[str, Tool], missing: Iterable[str]) -> Iterator[Event]:
        """The events about tools that the client receives before the model is called."""
        for problem in missing:
            yield Custom("tools.unavailable", problem)
        for toolbox in self._emitting:
            yield from toolbox.initial_events(ask)
        shadowed: list[JsonValue] = [offer.name for offer in ask.tools if tools[offer.name].runs_on_server]
        if shadowed:
            yield Custom("tools.shadowed", shadowed)

    def _history(self, ask: Ask, resumed: Reducer) -> tuple[Message, ...]:
        """The messages of the first prompt. `resumed` holds the results of calls that were waiting for a person."""
        return prepend_instructions(
            self._instructions(ask), ask.context, repair_history(ask.messages + resumed.messages())
        )

    def _instructions(self, ask: Ask) -> str:
        """The operator's instructions, followed by those of the toolboxes."""
        own = [self.instructions] if self.instructions else []
        return "\n\n".join([*own, *(text for toolbox in self._instructing for text in toolbox.instructions(ask))])

    def _intercept(self, ask: Ask) -> AsyncIterator[Event] | None:
        """The response of the first toolbox that handles the ask itself, or None."""
        refusal: RightseatError | None = None
        for toolbox in self._intercepting:
            try:
                if (answer := toolbox.intercept(ask)) is not None:
                    return answer
            except RightseatError as error:
                refusal = error
        if refusal is not None:
            raise refusal
        return None

    def _answer(self, ask: Ask, call: "ModelCall", steps: Steps, conversation: "Conversation") -> AsyncIterator[Event]:
        """Stream the model's response to a prompt, as a step of the run."""

        def source() -> AsyncIterator[Event]:
            """Not called if an earlier execution of the run has saved the response."""
            response = continuation.stream_response(
                call.model,
                call.prompt,
                steps,
                conversation.call_ids,
                renamed=ask.durable,
                limit=self.max_response_chars,
                on_first=call.mark_first_chunk,
            )
            call.start_span()
            return response

        return steps.stream(f"answer:{conversation.answered}", source)

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        having = [toolbox for toolbox in self.toolboxes if isinstance(toolbox, ListsPlugins)]
        return [plugin for toolbox in having for plugin in toolbox.list_plugins(principal, language)]

    async def tools(self, ask: Ask) -> tuple[dict[str, Tool], list[str]]:
        """Return the tools by name, and the problems that `tools.unavailable` reports.

        `tools.shadowed` reports client tools whose names the server's tools use.
        """
        return await gather(ask, self.toolboxes, self.approval)


class Conversation:
    """The prompts of one run. Each turn appends the model's message and the results of its tool calls."""

    __slots__ = ("_ask", "_history", "_limit", "_parameters", "_prompted", "call_ids", "tools")

    def __init__(self, ask: Ask, tools: Mapping[str, Tool], history: tuple[Message, ...], limit: int) -> None:
        self.tools = tools
        self.call_ids = {call.id for call in calls_in(ask.messages)}
        self._ask = ask
        self._history = history
        self._parameters = ask.parameters
        self._limit = min(ask.max_turns or limit, limit)
        self._prompted = 0

    @property
    def answered(self) -> int:
        """Turns before the current one."""
        return self._prompted - 1

    def next_prompt(self) -> Prompt | None:
        """Returns None if the ask limits the number of turns and has used them all. Raises `MaxTurnsExceeded`."""
        if self._prompted == self._limit:
            if self._ask.max_turns is None or self._ask.final_answer_without_tools:
                raise MaxTurnsExceeded(self._limit)
            return None
        self._prompted += 1
        if self._ask.final_answer_without_tools and self._prompted == self._limit:
            self.tools = {}
        ask, tools = self._ask, tuple(self.tools.values())
        return Prompt(self._history, tools, self._parameters, ask.thread_id, ask.run_id, ask.properties)

    def calls_of(self, turn: Reducer) -> list[Call]:
        calls = calls_in(turn.messages())
        self.call_ids.update(call.id for call in calls)
        return calls

    def add(self, turn: Reducer) -> None:
        self._history += turn.messages()
        self._parameters = without_forced_tool_choice(self._parameters)


class ModelCall:
    """One model response and its trace span. Leaving the context closes the response and ends the span.

    A class and not a generator, because each stream keeps one open for its whole duration.
    """

    __slots__ = ("_closing", "_span", "model", "prompt")

    def __init__(self, model: Model, prompt: Prompt) -> None:
        self.model = model
        self.prompt = prompt
        self._span: Span = NO_OBSERVER  # a response that is repeated from storage has no span

    def open(self, events: AsyncIterator[Event]) -> Self:
        self._closing = aclosing(events)
        return self

    def start_span(self) -> None:
        self._span = start_model_span(self.model, messages=len(self.prompt.messages), tools=len(self.prompt.tools))

    def mark_first_chunk(self) -> None:
        self._span.mark_first_chunk()

    async def __aenter__(self) -> AsyncIterator[Event]:
        return await self._closing.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._closing.__aexit__(kind, error, trace)
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._end(error)

    def note(self, ended: ModelResponseEnded) -> None:
        self._span.note(reason=ended.reason)
        if usage := ended.usage:
            count_usage(usage, self._span)

    def _end(self, error: BaseException | None) -> None:
        MODEL_SPAN.set(None)
        if error is None:
            self._span.end()
            return
        self._span.end(error_name(error))
        mark_origin(error, "call_model", model_name(self.model))


def is_complete(answer: Sequence[Message], tools: Mapping[str, Tool]) -> bool:
    """Whether the response has text and calls only tools that end the turn."""
    ends = [(tool := tools.get(call.name)) is not None and tool.ends_turn for call in calls_in(answer)]
    return all(ends) and any(message.role == "assistant" and message.text.strip() for message in answer)


def prepend_instructions(
    instructions: str | None, context: Iterable[Context], messages: tuple[Message, ...]
) -> tuple[Message, ...]:
    """Return the messages with the operator's instructions and the client's context added.

    The operator's instructions come first; the client's context follows the client's own system messages.
    """
    known = [f"{item.description}: {item.value}" for item in context]
    head = (Message("system", (Text(instructions),)),) if instructions else ()
    if not known:
        return head + messages
    lead = 0
    while lead < len(messages) and messages[lead].role == "system":
        lead += 1
    facts = Message("system", (Text("Current data of the application:\n" + "\n".join(known)),))
    return (*head, *messages[:lead], facts, *messages[lead:])


def without_forced_tool_choice(parameters: Parameters) -> Parameters:
    """The parameters for the turns after the first, which has already made any forced tool call."""
    if parameters.tool_choice is None or parameters.tool_choice in ("auto", "none"):
        return parameters
    return msgspec.structs.replace(parameters, tool_choice=None)


def log_truncation(ended: ModelResponseEnded, ask: Ask) -> None:
    if ended.reason == "length":
        logger.warning("run %s: the model's answer was cut at its token limit", ask.run_id)
    elif ended.reason == "filtered":
        logger.warning("run %s: the model's provider filtered the answer", ask.run_id)
