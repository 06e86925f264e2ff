"""Suggests flows for the next question; one model call writes a question for each."""

from collections.abc import Mapping, Sequence

from rightseat.core.errors import LimitExceeded
from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.expressions import prompts
from rightseat.plugins.model_calls import ModelCaller, ModelRequest
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scope import Scope
from rightseat.plugins.selection.search import FlowSearch
from rightseat.plugins.selection.selector import MAX_FLOWS, Candidate, narrow_candidates

MAX_SUGGESTIONS = 3
MAX_CHARACTERS = 30  # of one suggestion

SYSTEM = (
    "The user has been answered. For each procedure, write a question that this user could ask next to have it done, "
    f"in the language of the last question, in at most {MAX_CHARACTERS} characters. "
    "Reply as JSON: a text for each name."
)


async def suggest_flows(
    plugin: Plugin, flow: Flow, scope: Scope, plugins: Mapping[str, Plugin], search: FlowSearch, model: ModelCaller
) -> list[JsonValue]:
    """`{"flow": "plugin.flow", "question": "…"}` for each, in the author's order."""
    found = await find_next_flows(plugin, flow, scope, plugins, search)
    if not found:
        return []
    questions = await write_questions(found, scope, model)
    return [{"flow": one.name, "question": questions.get(one.name, one.flow.description)} for one in found]


async def find_next_flows(
    plugin: Plugin, flow: Flow, scope: Scope, plugins: Mapping[str, Plugin], search: FlowSearch
) -> list[Candidate]:
    if flow.next_flow is not None:
        named = [find_flow(name, plugin, plugins) for name in flow.next_flow]
        return [one for one in named if one is not None and one.flow.enabled][:MAX_SUGGESTIONS]
    others, _, _ = await narrow_candidates(scope.question, list(plugins.values()), search, auto=True)
    current = (plugin.id, flow.name)
    return [one for one in others[: MAX_FLOWS + 1] if (one.plugin.id, one.flow.name) != current][:MAX_SUGGESTIONS]


def find_flow(name: str, plugin: Plugin, plugins: Mapping[str, Plugin]) -> Candidate | None:
    """A flow of this plugin, or `plugin.flow`; None if there is none, which the loader reports."""
    owner_name, dot, flow_name = name.partition(".")
    owner = plugins.get(owner_name) if dot else plugin
    flow = owner.flow(flow_name if dot else name) if owner is not None else None
    return Candidate(owner, flow) if owner is not None and flow is not None else None


async def write_questions(found: Sequence[Candidate], scope: Scope, model: ModelCaller) -> dict[str, str]:
    """By flow name; missing or too long questions are left out."""
    properties: dict[str, JsonValue] = {one.name: {"type": "string", "maxLength": MAX_CHARACTERS} for one in found}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    listed = "\n".join(f"- {one.name}: {one.flow.description}" for one in found)
    filled = prompts.write(SYSTEM, "{question}\n\n{context}", scope, extra_text=listed)
    try:
        prompt = f"{listed}\n\n{filled.user}"
        response = await model.call(ModelRequest("suggestions", filled.system, prompt, schema, purpose="suggestions"))
        value = response.value()
    except (StepFailed, LimitExceeded, ValueError):
        return {}  # the answer is complete without them
    if not isinstance(value, dict):
        return {}
    texts = {name: text.strip() for name, text in value.items() if isinstance(text, str)}
    return {name: text for name, text in texts.items() if 0 < len(text) <= MAX_CHARACTERS}
