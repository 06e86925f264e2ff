"""Chooses the flow for a question: a search narrows the candidates, then one model call names a flow or `none`."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Flow, Identity, Plugin, PluginTexts
from rightseat.plugins.expressions import truncation
from rightseat.plugins.model_calls import ModelCaller, ModelRequest, ModelResponse
from rightseat.plugins.results import StepUsage
from rightseat.plugins.scope import Scope
from rightseat.plugins.selection.search import FlowSearch, top_indexes

MAX_PLUGINS, MAX_FLOWS = 3, 8  # after the search
MAX_DESCRIPTION_BYTES = 1500  # of one plugin, in the prompt
NONE = "none"

SYSTEM = """Choose the procedure that answers the user's question, by its description and that of its plugin. \
Reply `none` if no procedure does exactly that, or if the user only wants to talk. Reply as JSON: {"flow": "…"}"""


@dataclass(frozen=True, slots=True)
class Candidate:
    plugin: Plugin
    flow: Flow

    @property
    def name(self) -> str:
        return f"{self.plugin.id}.{self.flow.name}"

    def text(self) -> str:
        return f"{self.plugin.texts.name} {self.flow.name} {self.flow.description}"


class FlowChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """`plugin` is None if no flow fits. `scores` are those of the search; `why` explains the choice."""

    plugin: Identity | None = None
    flow: str = ""
    candidates: tuple[str, ...] = ()
    scores: dict[str, float] = {}
    why: str = ""
    usage: StepUsage = StepUsage()

    def record(self) -> JsonValue:
        value: JsonValue = msgspec.json.decode(msgspec.json.encode(self))
        return value


def list_candidates(plugins: Sequence[Plugin]) -> list[Candidate]:
    """All enabled flows."""
    return [Candidate(plugin, flow) for plugin in plugins for flow in plugin.flows.values() if flow.enabled]


async def choose_flow(
    scope: Scope, plugins: Sequence[Plugin], search: FlowSearch, model: ModelCaller, *, auto: bool
) -> FlowChoice:
    """`auto`: the user selected no plugins, so the search ranks plugins first."""
    found, scores, how = await narrow_candidates(scope.question, plugins, search, auto=auto)
    names = tuple(one.name for one in found)
    if not found:
        return FlowChoice(why="there are no flows")
    response = await model.call(build_request(scope, found))
    name = read_name(response)
    chosen = next((one for one in found if one.name == name), None)
    if chosen is None:
        why = (
            "the model found that none fits"
            if name == NONE
            else f"the model named none of them: {response.text[:100]!r}"
        )
        return FlowChoice(None, "", names, scores, f"{how}; {why}", response.usage)
    return FlowChoice(
        chosen.plugin.identity, chosen.flow.name, names, scores, f"{how}; the model's choice", response.usage
    )


async def narrow_candidates(
    question: str, plugins: Sequence[Plugin], search: FlowSearch, *, auto: bool
) -> tuple[list[Candidate], dict[str, float], str]:
    every = list_candidates(plugins)
    if len(every) <= MAX_FLOWS:
        return every, {}, "no search: few flows"
    scores: dict[str, float] = {}
    if auto and len(plugins) > MAX_PLUGINS:
        ranked, _ = await search.rank(question, [describe(plugin) for plugin in plugins])
        scores |= {plugin.id: round(score, 4) for plugin, score in zip(plugins, ranked, strict=True)}
        plugins = [plugins[at] for at in top_indexes(ranked, MAX_PLUGINS)]
        every = list_candidates(plugins)
    ranked, how = await search.rank(question, [one.text() for one in every])
    scores |= {one.name: round(score, 4) for one, score in zip(every, ranked, strict=True)}
    return [every[at] for at in top_indexes(ranked, MAX_FLOWS)], scores, how


def describe(plugin: Plugin) -> str:
    """In all languages of the plugin, so that a question in any of them finds it."""
    every = (plugin.texts, *plugin.i18n.values())
    return " ".join(f"{texts.name} {texts.description}" for texts in every)


def build_request(scope: Scope, found: Sequence[Candidate]) -> ModelRequest:
    names: list[JsonValue] = [*(one.name for one in found), NONE]
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"flow": {"type": "string", "enum": names}},
        "required": ["flow"],
        "additionalProperties": False,
    }
    owners = {one.plugin.id: one.plugin.texts for one in found}
    plugins = "\n".join(f"- {id} ({texts.name}): {shorten_description(texts)}" for id, texts in owners.items())
    listed = "\n".join(f"- {one.name} ({one.plugin.texts.name}): {one.flow.description}" for one in found)
    recent = "\n".join(f"{role}: {text[:500]}" for role, text in scope.history[-4:])
    before = f"The conversation so far:\n{recent}\n\n" if recent else ""
    offered = f"The plugins:\n{plugins}\n\nThe procedures:\n{listed}\n- {NONE}: none of them"
    user = f"{before}{offered}\n\nThe question:\n{scope.question}"
    return ModelRequest("choose", SYSTEM, user, schema)


def shorten_description(texts: PluginTexts) -> str:
    return truncation.truncate_text(texts.description.strip(), MAX_DESCRIPTION_BYTES)[0]


def read_name(response: ModelResponse) -> str:
    try:
        value = response.value()
    except ValueError:
        return response.text.strip()
    name = value.get("flow") if isinstance(value, dict) else value
    return name if isinstance(name, str) else ""
