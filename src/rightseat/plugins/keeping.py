"""What flows have made, kept with the thread: files and charts for the user to fetch, and questions to ask next."""

import base64
import hashlib
import logging
from collections.abc import Sequence

import msgspec

from rightseat.core.artifacts import PRIVATE, Artifacts
from rightseat.core.ask import Ask
from rightseat.core.errors import StoreUnreachable
from rightseat.core.values import JsonValue
from rightseat.plugins.results import Artifact, Result

logger = logging.getLogger(__name__)


async def keep(artifacts: Artifacts, ask: Ask, result: Result) -> Result:
    """The result with the ids of what it has made. The content of a file is from here on in the store alone."""
    if not result.artifacts:
        return result
    kept = [await keep_one(artifacts, ask, one) for one in result.artifacts]
    return msgspec.structs.replace(result, artifacts=tuple(kept))


async def keep_one(artifacts: Artifacts, ask: Ask, one: Artifact) -> Artifact:
    content = msgspec.json.encode(one.option) if one.option is not None else base64.b64decode(one.data)
    id = await artifacts.put(ask, one.name, one.media_type, content)
    return msgspec.structs.replace(one, id=id, size=len(content), data="")


async def keep_suggestions(artifacts: Artifacts, ask: Ask, offered: Sequence[JsonValue]) -> None:
    """For clients that ask for suggestions in a request of their own, which any server of the same store may get."""
    questions = [one["question"] for one in offered if isinstance(one, dict)]
    if not questions or (question := last_question(ask)) is None:
        return
    id = suggestions_id(ask, question)
    try:
        await artifacts.put(ask, "suggestions", PRIVATE, msgspec.json.encode(questions), id)
    except StoreUnreachable as error:
        logger.warning(
            "run %s: its suggestions cannot be stored, and CopilotKit's chat shows none: %s", ask.run_id, error
        )


async def find_suggestions(artifacts: Artifacts, ask: Ask, question: str) -> list[str]:
    """What a flow that answered this message suggested to the same user."""
    found = await artifacts.get(suggestions_id(ask, question), ask.principal)
    return [] if found is None else msgspec.json.decode(found.content, type=list[str])


def last_question(ask: Ask) -> str | None:
    """The id of the user's last message, which the client sends again when it asks for suggestions."""
    return next((one.id for one in reversed(ask.messages) if one.role == "user"), None)


def suggestions_id(ask: Ask, question: str) -> str:
    whose = msgspec.json.encode([ask.principal.id, ask.agent, question])
    return f"suggestions_{hashlib.sha256(whose).hexdigest()}"
