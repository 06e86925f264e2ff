"""An agent that runs the plugin flow that fits the question. If none fits, the model responds directly."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial

from pydantic import BaseModel, ConfigDict

from rightseat.concurrency import aclosing
from rightseat.core.agent import Agent, PluginSummary
from rightseat.core.ask import Ask, NamedTool, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import BadRequest
from rightseat.core.events import Custom, Event, RunFinished
from rightseat.core.loop import continuation
from rightseat.core.loop.agent_loop import prepend_instructions
from rightseat.core.loop.history import repair_history
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk
from rightseat.core.stream.framer import frame
from rightseat.operations.flows import FlowGraph, FlowSummary
from rightseat.parts import ModelName, Parts, ToolboxName
from rightseat.plugins.collection import Collection, PluginSelection, find_collection
from rightseat.plugins.selection import FlowChoice

MAX_STARTERS = 3


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    toolbox: ToolboxName
    """The toolbox of the type `plugins` whose flows it runs."""
    model: ModelName = "default"
    """The model that chooses the flow, generates the text of flows, and responds if no flow fits."""
    plugins: tuple[str, ...] | None = None
    """The ids of the plugins to choose from. Default: all plugins of the toolbox."""
    flow: str | None = None
    """The only flow to run, as `plugin.flow`, without choosing one."""
    instructions: str | None = None
    """Sent to the model before the conversation, as a system message, when it responds without a flow."""
    description: str = ""
    """The purpose of the agent: users read it to choose an agent, models to decide whether to hand over to it."""
    suggestions: bool = True
    """Whether the client receives suggested next questions after a flow."""
    durable: bool = False
    """Whether another process resumes its runs when their process dies. Each finished step of a flow is then stored,
    which requires the `engine` `dbos`."""


def build(options: Options, parts: Parts) -> Agent:
    collection = find_collection(parts.toolbox(options.toolbox), options.toolbox)
    return Flows(collection, parts.model(options.model), options)


class Flows:
    """A client may select `plugins` (a list of ids, `auto` or `none`) or a `flow` in its `properties`."""

    takes_files = True
    """Flows use files as they are, so a face must pass on the user's attachments."""

    def __init__(self, collection: Collection, model: Model, options: Options) -> None:
        self.collection = collection
        self._model = model
        self._options = options
        self.description = options.description
        self.durable = options.durable

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if tool := suggestions_tool(ask):
            source = self._call_with_suggestions(tool, ask)
        else:
            source = self._resume(ask, steps) or self._begin(ask, steps)
        async with aclosing(source) as events:
            async for event in events:
                yield event

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        only = self._options.flow.partition(".")[0] if self._options.flow is not None else None
        return self.collection.summaries(principal, language, self._options.plugins if only is None else (only,))

    def list_flows(self, principal: Principal) -> Sequence[FlowSummary]:
        return [
            list_flow
            for list_flow in self.collection.list_flows(principal)
            if self._may_run(list_flow.plugin, list_flow.flow)
        ]

    async def find_graph(
        self, principal: Principal, plugin: str, flow: str, digest: str | None = None
    ) -> FlowGraph | None:
        found = await self.collection.find_graph(principal, plugin, flow, digest)
        return found if found is not None and self._may_run(plugin, found.name) else None

    def _may_run(self, plugin: str, flow: str) -> bool:
        """Whether the operator's selection has the flow."""
        if self._options.flow is not None:
            return self._options.flow.casefold() == f"{plugin}.{flow}".casefold()
        return self._options.plugins is None or plugin in self._options.plugins

    # Suggestions for a client that requests them in a separate run

    async def _call_with_suggestions(self, tool: str, ask: Ask) -> AsyncIterator[Event]:
        """Without a model call: the starters of the plugins before the first question, then those of the last flow."""
        question_ids = [message.id for message in ask.messages if message.role == "user"]
        if len(question_ids) > 1:  # the last one requests the suggestions
            questions = await self.collection.suggestions(ask, question_ids[-2])
        else:
            language = ask.properties.get("language")
            plugins = self.list_plugins(ask.principal, language if isinstance(language, str) else None)
            questions = [question for plugin in plugins for question in plugin.questions[:1]][:MAX_STARTERS]
        suggestions = [{"title": question, "message": question} for question in questions]

        async def chunks() -> AsyncIterator[Chunk]:
            yield CallChunk(0, json.dumps({"suggestions": suggestions}, ensure_ascii=False), name=tool)
            yield StopChunk("tool_calls")

        async for event in frame(chunks()):
            yield event
        yield RunFinished("waiting")

    def _resume(self, ask: Ask, steps: Steps) -> AsyncIterator[Event] | None:
        """Resume the flow that waited for one of the answers."""
        for answer in ask.answers:
            if answer.call is None and (waiting := self.collection.find_waiting(answer, ask.principal)):
                plugin, flow, checkpoint = waiting
                return self.collection.run(
                    plugin,
                    flow,
                    self.collection.build_scope(ask),
                    ask,
                    steps,
                    self._model,
                    checkpoint=checkpoint,
                    answer=answer,
                    suggests=self._suggests(ask),
                )
        return None

    async def _begin(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        selection = self._selection(ask)
        if selection is None:
            chosen = FlowChoice(why="the client selected no plugin")
        else:
            chosen = await steps.do("choose", FlowChoice, partial(self.collection.choose, ask, selection, self._model))
        yield Custom("flow.chosen", chosen.record())
        answer = self._respond_without_flow(ask, steps) if chosen.plugin is None else self._run_flow(chosen, ask, steps)
        async with aclosing(answer) as events:
            async for event in events:
                yield event

    def _selection(self, ask: Ask) -> PluginSelection | None:
        """The client's selection, within the operator's; None for no plugin at all. Raises `BadRequest`."""
        wanted, flow = ask.properties.get("plugins"), ask.properties.get("flow")
        allowed = self._options.plugins
        if self._options.flow is not None:
            return PluginSelection(allowed, self._options.flow)
        if isinstance(flow, str):
            return PluginSelection(allowed, flow)
        if wanted == "none":
            return None
        if wanted is None or wanted == "auto":
            return PluginSelection(allowed)
        names = tuple(name for name in wanted if isinstance(name, str)) if isinstance(wanted, list) else ()
        if not names:
            raise BadRequest("`plugins` should be a list of ids, `auto` or `none`.")
        if allowed is not None and (others := set(names) - set(allowed)):
            raise BadRequest(f"This agent has no plugin {sorted(others)[0]!r}. It has: {', '.join(allowed)}.")
        return PluginSelection(names)

    def _run_flow(self, chosen: FlowChoice, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        assert chosen.plugin is not None  # noqa: S101  # checked by the caller
        plugin, scope = self.collection.registry.find(chosen.plugin), self.collection.build_scope(ask)
        if not scope.question and plugin.texts.starters:
            words = plugin.i18n.get(str(ask.properties.get("language")), plugin.texts)
            scope = replace(scope, question=(words.starters or plugin.texts.starters)[0])
        flow = plugin.flows[chosen.flow]
        return self.collection.run(plugin, flow, scope, ask, steps, self._model, suggests=self._suggests(ask))

    def _suggests(self, ask: Ask) -> bool:
        """Suggestions require a model call, so they are generated only for a client that can show them."""
        return self._options.suggestions and ask.supports_suggestions

    def _respond_without_flow(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        history = prepend_instructions(self._options.instructions, ask.context, repair_history(ask.messages))
        prompt = Prompt(history, (), ask.parameters, ask.thread_id, ask.run_id, ask.properties)
        return steps.stream(
            "answer", lambda: continuation.stream_response(self._model, prompt, steps, renamed=ask.durable)
        )


def suggestions_tool(ask: Ask) -> str | None:
    """The client's tool for suggestions, if the request forces it. CopilotKit's chat requests suggestions this way."""
    choice = ask.parameters.tool_choice
    if not isinstance(choice, NamedTool):
        return None
    offered = next((tool for tool in ask.tools if tool.name == choice.name), None)
    properties = offered.parameters.get("properties") if offered is not None else None
    return choice.name if isinstance(properties, dict) and "suggestions" in properties else None
