"""Stores the output of flows with the thread: files and charts for download, and suggested next questions."""

import base64
import hashlib
import logging
from collections.abc import Sequence

import msgspec

from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE, Artifacts
from rightseat.core.ask import Ask
from rightseat.core.errors import StoreUnreachable
from rightseat.core.types import JsonValue
from rightseat.plugins.results import Artifact, StepResult

logger = logging.getLogger(__name__)


async def store_artifacts(artifacts: Artifacts, ask: Ask, result: StepResult) -> StepResult:
    """Return the result with the ids of its artifacts; from now on only the store holds the content of files."""
    if not result.artifacts:
        return result
    stored = [await store_artifact(artifacts, ask, one) for one in result.artifacts]
    return msgspec.structs.replace(result, artifacts=tuple(stored))


async def store_artifact(artifacts: Artifacts, ask: Ask, artifact: Artifact) -> Artifact:
    has_chart = artifact.option is not None
    content = msgspec.json.encode(artifact.option) if has_chart else base64.b64decode(artifact.data)
    id = await artifacts.put(ask, artifact.name, artifact.media_type, content)
    return msgspec.structs.replace(artifact, id=id, size=len(content), data="")


async def store_suggestions(artifacts: Artifacts, ask: Ask, suggestions: Sequence[JsonValue]) -> None:
    """For clients that request suggestions separately, possibly from another replica with the same store."""
    questions = [one["question"] for one in suggestions if isinstance(one, dict)]
    if not questions or (message_id := last_message_id(ask)) is None:
        return
    id = suggestions_id(ask, message_id)
    try:
        await artifacts.put(ask, "suggestions", PRIVATE_MEDIA_TYPE, msgspec.json.encode(questions), id)
    except StoreUnreachable as error:
        logger.warning("run %s: cannot store its suggestions, so CopilotKit's chat shows none: %s", ask.run_id, error)


async def find_suggestions(artifacts: Artifacts, ask: Ask, message_id: str) -> list[str]:
    """The suggestions of the flow that answered this message, for the same user."""
    stored = await artifacts.get(suggestions_id(ask, message_id), ask.principal)
    return [] if stored is None else msgspec.json.decode(stored.content, type=list[str])


def last_message_id(ask: Ask) -> str | None:
    """The id of the user's last message, which the client repeats when it requests suggestions."""
    return next((one.id for one in reversed(ask.messages) if one.role == "user"), None)


def suggestions_id(ask: Ask, message_id: str) -> str:
    key = msgspec.json.encode([ask.principal.id, ask.agent, message_id])
    return f"suggestions_{hashlib.sha256(key).hexdigest()}"
