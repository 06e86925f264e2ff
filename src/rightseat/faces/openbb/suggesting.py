"""What the user might ask next, where the user has asked for such ideas.

The model gives them through a tool, beside its answer: so they are made with all that it knows, and its text stays free
of them. All that there is to say about it is in the tool's description, and in no prompt.
"""

from collections.abc import Sequence

from rightseat.core.errors import BadAsk
from rightseat.core.events import Custom
from rightseat.core.tools import Invocation, Tool
from rightseat.core.values import JsonValue
from rightseat.faces.openbb.functions import schema
from rightseat.faces.openbb.session import Session

OPTION = "prompt-suggestions"
MOST = 5
LONGEST = 200
PARAMETERS = schema({"suggestions": {"type": "array", "items": {"type": "string"}}}, ("suggestions",))


def tools(session: Session) -> Sequence[Tool]:
    if session.legacy or not session.query.is_on(OPTION):
        return []
    return [
        Tool(
            "suggest_prompts",
            "Give the user two to four short questions to ask next. Call it once, together with the text of your final "
            "answer, and do not repeat the questions in that text.",
            PARAMETERS,
            suggest,
            ends_turn=True,
        )
    ]


async def suggest(invocation: Invocation) -> str:
    prompts = read_prompts(invocation.arguments.get("suggestions"))
    invocation.emit(Custom("openbb.suggestions", prompts))
    return "They will be shown under your answer. If your answer is complete, add nothing to it."


def read_prompts(suggestions: JsonValue) -> list[JsonValue]:
    if not isinstance(suggestions, list) or not suggestions or len(suggestions) > MOST:
        raise BadAsk(f"suggestions must be a list of one to {MOST} texts.")
    prompts: list[JsonValue] = []
    for prompt in suggestions:
        if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > LONGEST:
            raise BadAsk(f"Each of the suggestions must be a text of at most {LONGEST} characters.")
        if prompt.strip() not in prompts:
            prompts.append(prompt.strip())
    return prompts
