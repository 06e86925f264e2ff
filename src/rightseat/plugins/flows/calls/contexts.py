"""A context that is too long is told in short by a model; any other is what code has made of it."""

from dataclasses import replace

from rightseat.plugins import prompting, shortening, templates
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.results import StepFailed, Usage
from rightseat.plugins.speaking import Wanted

SHARE = 0.2
"""Of what a model may read, for the context."""

SYSTEM = "Sum up what happened so far in a conversation, in a few sentences. Keep names, numbers and results."


async def settled(turn: Turn, *prompts: str) -> tuple[Turn, Usage]:
    """The turn with a context that has its share of the room. Where the model fails, it is cut like other texts."""
    context, most = prompting.context(turn.scene), int(shortening.room(turn.scene.window) * SHARE)
    wants = any(one.name == "context" for prompt in prompts for one in templates.placeholders(prompt))
    if not wants or shortening.size(context) <= most:
        return turn, Usage()
    told, _ = shortening.shorten(context, shortening.room(turn.scene.window) - shortening.size(SYSTEM))
    try:
        said = await turn.means.voice.say(Wanted("context", SYSTEM, told))
    except StepFailed:
        return turn, Usage()
    return replace(turn, scene=replace(turn.scene, context=said.text)), said.usage
