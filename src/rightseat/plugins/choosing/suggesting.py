"""What the user could ask next: other flows, as questions that one call of a model words for all of them."""

from collections.abc import Mapping, Sequence

from rightseat.core.values import JsonValue
from rightseat.plugins import prompting
from rightseat.plugins.choosing.picking import FLOWS, Candidate, narrowed
from rightseat.plugins.choosing.searching import Search
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Speaker, Wanted

MOST, LONGEST = 3, 30
"""Suggestions, and the characters of each."""

SYSTEM = (
    "The user has been answered. For each procedure, write a question that this user could ask next to have it done, "
    f"in the language of the last question, in at most {LONGEST} characters. Reply as JSON: a text for each name."
)


async def suggest(
    plugin: Plugin, flow: Flow, scene: Scene, plugins: Mapping[str, Plugin], search: Search, speaker: Speaker
) -> list[JsonValue]:
    """`{"flow": "plugin.flow", "question": "…"}` for each, in the author's order."""
    found = await following(plugin, flow, scene, plugins, search)
    if not found:
        return []
    questions = await worded(found, scene, speaker)
    return [{"flow": one.name, "question": questions.get(one.name, one.flow.description)} for one in found]


async def following(
    plugin: Plugin, flow: Flow, scene: Scene, plugins: Mapping[str, Plugin], search: Search
) -> list[Candidate]:
    if flow.next_flow is not None:
        named = [find(name, plugin, plugins) for name in flow.next_flow]
        return [one for one in named if one is not None and one.flow.enabled][:MOST]
    others, _, _ = await narrowed(scene.question, list(plugins.values()), search, auto=True)
    here = (plugin.id, flow.name)
    return [one for one in others[: FLOWS + 1] if (one.plugin.id, one.flow.name) != here][:MOST]


def find(name: str, plugin: Plugin, plugins: Mapping[str, Plugin]) -> Candidate | None:
    """A flow of this plugin, or `plugin.flow`; None where there is no such flow here, as the loader has warned."""
    owner_name, dot, flow_name = name.partition(".")
    owner = plugins.get(owner_name) if dot else plugin
    flow = owner.flow(flow_name if dot else name) if owner is not None else None
    return Candidate(owner, flow) if owner is not None and flow is not None else None


async def worded(found: Sequence[Candidate], scene: Scene, speaker: Speaker) -> dict[str, str]:
    """By name; what the model does not give, or gives too long, is left out."""
    properties: dict[str, JsonValue] = {one.name: {"type": "string", "maxLength": LONGEST} for one in found}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    listed = "\n".join(f"- {one.name}: {one.flow.description}" for one in found)
    prompts = prompting.write(SYSTEM, "{question}\n\n{context}", scene, beside=listed)
    try:
        said = await speaker.say(Wanted("suggestions", prompts.system, f"{listed}\n\n{prompts.user}", schema))
        value = said.value()
    except (StepFailed, ValueError):
        return {}
    if not isinstance(value, dict):
        return {}
    texts = {name: text.strip() for name, text in value.items() if isinstance(text, str)}
    return {name: text for name, text in texts.items() if 0 < len(text) <= LONGEST}
