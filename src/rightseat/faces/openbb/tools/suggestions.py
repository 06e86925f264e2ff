"""A tool with which the model suggests follow-up questions, if the user enabled them.

The model calls it with its final answer, so that suggestions use all of its knowledge and its text stays free of them.
The tool description has all instructions.
"""

from collections.abc import Sequence

from rightseat.core.errors import BadRequest
from rightseat.core.events import Custom
from rightseat.core.tools import Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools.functions import schema

OPTION = "prompt-suggestions"
MAX_SUGGESTIONS = 5
MAX_SUGGESTION_CHARS = 200
PARAMETERS = schema({"suggestions": {"type": "array", "items": {"type": "string"}}}, ("suggestions",))


def tools(session: Session) -> Sequence[Tool]:
    if session.is_legacy or not session.query.is_on(OPTION):
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
    if not isinstance(suggestions, list) or not suggestions or len(suggestions) > MAX_SUGGESTIONS:
        raise BadRequest(f"suggestions must be a list of one to {MAX_SUGGESTIONS} texts.")
    prompts: list[JsonValue] = []
    for prompt in suggestions:
        if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > MAX_SUGGESTION_CHARS:
            raise BadRequest(f"Each of the suggestions must be a text of at most {MAX_SUGGESTION_CHARS} characters.")
        if prompt.strip() not in prompts:
            prompts.append(prompt.strip())
    return prompts
