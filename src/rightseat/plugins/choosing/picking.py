"""Choosing the flow for a question: a search if there are many, then one answer of a model: a name, or `none`."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from rightseat.core.values import JsonValue
from rightseat.plugins import shortening
from rightseat.plugins.choosing.searching import Search, best
from rightseat.plugins.definition import Flow, Identity, Plugin, Words
from rightseat.plugins.results import Usage
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Said, Speaker, Wanted

PLUGINS, FLOWS = 3, 8
"""How many of each a search leaves."""
MAX_DESCRIPTION_BYTES = 1500
"""Of one plugin, where a model chooses."""
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
        return f"{self.plugin.words.name} {self.flow.name} {self.flow.description}"


class Chosen(msgspec.Struct, frozen=True, omit_defaults=True):
    """`plugin` is None where nothing fits. `scores` are of the candidates that were compared, `why` says how."""

    plugin: Identity | None = None
    flow: str = ""
    candidates: tuple[str, ...] = ()
    scores: dict[str, float] = {}
    why: str = ""
    usage: Usage = Usage()

    def record(self) -> JsonValue:
        value: JsonValue = msgspec.json.decode(msgspec.json.encode(self))
        return value


def candidates(plugins: Sequence[Plugin]) -> list[Candidate]:
    """Every flow that can be run."""
    return [Candidate(plugin, flow) for plugin in plugins for flow in plugin.flows.values() if flow.enabled]


async def choose(scene: Scene, plugins: Sequence[Plugin], search: Search, speaker: Speaker, *, auto: bool) -> Chosen:
    """`auto`: nobody said which plugins, so the best of them are found first."""
    found, scores, how = await narrowed(scene.question, plugins, search, auto=auto)
    names = tuple(one.name for one in found)
    if not found:
        return Chosen(why="there are no flows")
    said = await speaker.say(asked(scene, found))
    name = read(said)
    chosen = next((one for one in found if one.name == name), None)
    if chosen is None:
        why = "the model found that none fits" if name == NONE else f"the model named none of them: {said.text[:100]!r}"
        return Chosen(None, "", names, scores, f"{how}; {why}", said.usage)
    return Chosen(chosen.plugin.identity, chosen.flow.name, names, scores, f"{how}; the model's choice", said.usage)


async def narrowed(
    question: str, plugins: Sequence[Plugin], search: Search, *, auto: bool
) -> tuple[list[Candidate], dict[str, float], str]:
    every = candidates(plugins)
    if len(every) <= FLOWS:
        return every, {}, "no search: there are few flows"
    scores: dict[str, float] = {}
    if auto and len(plugins) > PLUGINS:
        ranked, _ = await search.rank(question, [described(plugin) for plugin in plugins])
        scores |= {plugin.id: round(score, 4) for plugin, score in zip(plugins, ranked, strict=True)}
        plugins = [plugins[at] for at in best(ranked, PLUGINS)]
        every = candidates(plugins)
    ranked, how = await search.rank(question, [one.text() for one in every])
    scores |= {one.name: round(score, 4) for one, score in zip(every, ranked, strict=True)}
    return [every[at] for at in best(ranked, FLOWS)], scores, how


def described(plugin: Plugin) -> str:
    """A plugin in all the languages it has, so that a question finds it in any of them."""
    every = (plugin.words, *plugin.i18n.values())
    return " ".join(f"{words.name} {words.description}" for words in every)


def asked(scene: Scene, found: Sequence[Candidate]) -> Wanted:
    names: list[JsonValue] = [*(one.name for one in found), NONE]
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"flow": {"type": "string", "enum": names}},
        "required": ["flow"],
        "additionalProperties": False,
    }
    owners = {one.plugin.id: one.plugin.words for one in found}
    plugins = "\n".join(f"- {id} ({words.name}): {shown(words)}" for id, words in owners.items())
    listed = "\n".join(f"- {one.name} ({one.plugin.words.name}): {one.flow.description}" for one in found)
    recent = "\n".join(f"{role}: {text[:500]}" for role, text in scene.history[-4:])
    before = f"The conversation so far:\n{recent}\n\n" if recent else ""
    offered = f"The plugins:\n{plugins}\n\nThe procedures:\n{listed}\n- {NONE}: none of them"
    user = f"{before}{offered}\n\nThe question:\n{scene.question}"
    return Wanted("choose", SYSTEM, user, schema)


def shown(words: Words) -> str:
    """A plugin's description, where a model reads several of them."""
    return shortening.cut_text(words.description.strip(), MAX_DESCRIPTION_BYTES)[0]


def read(said: Said) -> str:
    try:
        value = said.value()
    except ValueError:
        return said.text.strip()
    name = value.get("flow") if isinstance(value, dict) else value
    return name if isinstance(name, str) else ""
