"""An agent that answers with the flows of plugins: it chooses one for the question and runs it, or just answers."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial

from pydantic import BaseModel, ConfigDict

from rightseat.core import continuing
from rightseat.core.agent import Agent, PluginSummary
from rightseat.core.ask import Ask, Named, Principal
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import BadAsk
from rightseat.core.events import Custom, Event, RunFinished
from rightseat.core.framing import frame
from rightseat.core.history import mended
from rightseat.core.loop import introduced
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk
from rightseat.parts import ModelName, Parts, ToolboxName
from rightseat.plugins.choosing import Chosen
from rightseat.plugins.collection import Collection, Selection, collection_of

MAX_STARTERS = 3


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    toolbox: ToolboxName
    """The toolbox of the type `plugins` whose flows it runs."""
    model: ModelName = "default"
    """Which of the models chooses, speaks in flows, and answers where no flow fits."""
    plugins: tuple[str, ...] | None = None
    """The plugins that may be chosen from, by id; all of the toolbox if it is not set."""
    flow: str | None = None
    """The one flow that it runs, as `plugin.flow`; then nothing is chosen."""
    instructions: str | None = None
    """What the model is told before everything else, where it answers without a flow."""
    description: str = ""
    """What the agent is good for: read by people who choose one, and by models that may hand over to it."""
    suggestions: bool = True
    """Whether questions that the user could ask next are offered after a flow."""
    durable: bool = False
    """Whether its runs go on when the server that has them dies: each step of a flow is then kept when it is finished,
    which takes an `engine` that can: `dbos`."""


def build(options: Options, parts: Parts) -> Agent:
    collection = collection_of(parts.toolbox(options.toolbox), options.toolbox)
    return Flows(collection, parts.model(options.model), options)


class Flows:
    """A client may say in `properties` what it wants: `plugins` (a list of ids, `auto` or `none`), or a `flow`."""

    takes_files = True
    """Files are sent on as they are: a face must not keep to itself what the user attached."""

    def __init__(self, collection: Collection, model: Model, options: Options) -> None:
        self._collection = collection
        self._model = model
        self._options = options
        self.description = options.description
        self.durable = options.durable

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if tool := suggestions_tool(ask):
            source = self._call_with_suggestions(tool, ask)
        else:
            source = self._go_on(ask, steps) or self._begin(ask, steps)
        async with closing(source) as events:
            async for event in events:
                yield event

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        only = self._options.flow.partition(".")[0] if self._options.flow is not None else None
        return self._collection.summaries(principal, language, self._options.plugins if only is None else (only,))

    # Suggestions for a client that asks for them in a run of its own

    async def _call_with_suggestions(self, tool: str, ask: Ask) -> AsyncIterator[Event]:
        """No model is asked: before the first question these are the plugins' own, then those of the last flow."""
        asked = [one.id for one in ask.messages if one.role == "user"]
        if len(asked) > 1:  # the last is the wish for suggestions
            questions = await self._collection.suggestions(ask, asked[-2])
        else:
            language = ask.properties.get("language")
            plugins = self.list_plugins(ask.principal, language if isinstance(language, str) else None)
            questions = [question for plugin in plugins for question in plugin.questions[:1]][:MAX_STARTERS]
        suggestions = [{"title": question, "message": question} for question in questions]

        async def chunks() -> AsyncIterator[Chunk]:
            yield CallChunk(0, json.dumps({"suggestions": suggestions}, ensure_ascii=False), name=tool)
            yield StopChunk("calls")

        async for event in frame(chunks()):
            yield event
        yield RunFinished("waiting")

    def _go_on(self, ask: Ask, steps: Steps) -> AsyncIterator[Event] | None:
        """The flow that waited for what a person has answered now."""
        for answer in ask.answers:
            if answer.call is None and (waiting := self._collection.waiting(answer, ask.principal)):
                plugin, flow, progress = waiting
                return self._collection.run(
                    plugin,
                    flow,
                    self._collection.scene(ask),
                    ask,
                    steps,
                    self._model,
                    progress=progress,
                    answer=answer,
                    suggests=self._suggests(ask),
                )
        return None

    async def _begin(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        selection = self._selection(ask)
        if selection is None:
            chosen = Chosen(why="the client wants no plugin")
        else:
            chosen = await steps.do("choose", Chosen, partial(self._collection.choose, ask, selection, self._model))
        yield Custom("flow.chosen", chosen.record())
        answer = self._plain(ask, steps) if chosen.plugin is None else self._flow(chosen, ask, steps)
        async with closing(answer) as events:
            async for event in events:
                yield event

    def _selection(self, ask: Ask) -> Selection | None:
        """What the client wants, within what the operator allows; None for no plugin at all. Raises `BadAsk`."""
        wanted, flow = ask.properties.get("plugins"), ask.properties.get("flow")
        allowed = self._options.plugins
        if self._options.flow is not None:
            return Selection(allowed, self._options.flow)
        if isinstance(flow, str):
            return Selection(allowed, flow)
        if wanted == "none":
            return None
        if wanted is None or wanted == "auto":
            return Selection(allowed)
        names = tuple(name for name in wanted if isinstance(name, str)) if isinstance(wanted, list) else ()
        if not names:
            raise BadAsk("`plugins` should be a list of ids, `auto` or `none`.")
        if allowed is not None and (others := set(names) - set(allowed)):
            raise BadAsk(f"This agent has no plugin {sorted(others)[0]!r}. It has: {', '.join(allowed)}.")
        return Selection(names)

    def _flow(self, chosen: Chosen, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        assert chosen.plugin is not None  # noqa: S101  # said by the caller
        plugin, scene = self._collection.shelf.find(chosen.plugin), self._collection.scene(ask)
        if not scene.question and plugin.words.starters:
            words = plugin.i18n.get(str(ask.properties.get("language")), plugin.words)
            scene = replace(scene, question=(words.starters or plugin.words.starters)[0])
        flow = plugin.flows[chosen.flow]
        return self._collection.run(plugin, flow, scene, ask, steps, self._model, suggests=self._suggests(ask))

    def _suggests(self, ask: Ask) -> bool:
        """Suggestions take a call of a model, so they are made only for a client that can show them."""
        return self._options.suggestions and ask.supports_suggestions

    def _plain(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        history = introduced(self._options.instructions, ask.context, mended(ask.messages))
        prompt = Prompt(history, (), ask.parameters, ask.thread_id)
        return steps.stream("answer", lambda: continuing.answer(self._model, prompt, steps, renamed=ask.durable))


def suggestions_tool(ask: Ask) -> str | None:
    """The tool of the client that must be called with suggestions, and nothing else: so CopilotKit's chat gets them."""
    choice = ask.parameters.tool_choice
    if not isinstance(choice, Named):
        return None
    offered = next((tool for tool in ask.tools if tool.name == choice.name), None)
    properties = offered.parameters.get("properties") if offered is not None else None
    return choice.name if isinstance(properties, dict) and "suggestions" in properties else None
