"""Reads the votes of Workspace, and finds the answers that they are about.

Workspace sends the text of the answer and its own id of the chat, not an id of the answer. Its runs are not stored, so
that the vote keeps the question and the text.
"""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest
from rightseat.core.types import JSON_ERRORS
from rightseat.faces._shared.responses import repair_surrogates
from rightseat.faces.openbb.feedback_file import FIELDS, FeedbackFile, as_text
from rightseat.operations.feedback import MAX_COMMENT_CHARS, MAX_QUOTE_CHARS, JudgedAnswer, SentJudgement, Vote
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.text import truncate

logger = logging.getLogger(__name__)

MAX_TRACE_CHARS = 512
VOTES: dict[str, Vote] = {"up": "up", "1": "up", "true": "up", "down": "down", "-1": "down", "false": "down"}

_decode = msgspec.json.Decoder().decode


class WorkspaceVote(NamedTuple):
    """`fields` are those of the body that Workspace is known to send."""

    judgement: SentJudgement
    trace_id: str | None
    question: str | None
    text: str | None
    fields: Mapping[str, Any]


async def store_vote(
    feedback: OwnFeedback, file: FeedbackFile | None, principal: Principal, body: bytes, trace_id: str | None
) -> None:
    """`trace_id` is that of the header. Raises `BadRequest` and `GuardDenied`."""
    vote = parse_vote(body, trace_id)
    row = await feedback.judge(principal, await find_answer(feedback, principal, vote), vote.judgement, "openbb")
    if file is not None:
        await file.append(vote.fields, trace_id, principal.id, row.id if row else None)


async def find_answer(feedback: OwnFeedback, principal: Principal, vote: WorkspaceVote) -> JudgedAnswer:
    """A later vote on the same answer has the same key, also when the server no longer remembers the run."""
    found = await feedback.find_quoted(principal, vote.trace_id or "", vote.text or "")
    quoted = JudgedAnswer(
        key=digest_answer(vote),
        owner=principal.id,
        trace_id=vote.trace_id,
        question=truncate_quote(vote.question),
        text=truncate_quote(vote.text),
    )
    if found is None:
        return quoted
    return msgspec.structs.replace(quoted, run=found.run, agent=found.agent, model=found.model)


def digest_answer(vote: WorkspaceVote) -> str:
    """Answers with the same text in the same chat are one."""
    parts = (vote.trace_id or "", vote.text or vote.question or "")
    return f"answer_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"


def parse_vote(body: bytes, trace_id: str | None) -> WorkspaceVote:
    """Raises `BadRequest`."""
    try:
        fields = _decode(repair_surrogates(body))
    except JSON_ERRORS as error:
        raise BadRequest(f"The body is not valid JSON ({error}). Send a JSON object with `vote`.") from error
    if not isinstance(fields, dict) or "vote" not in fields:
        raise BadRequest(f"The body is not feedback. Send a JSON object with {', '.join(FIELDS)}.")
    if unknown := sorted(str(key) for key in fields.keys() - set(FIELDS)):
        logger.info("ignored unknown feedback fields: %s", ", ".join(unknown)[:200])
    known = {key: fields[key] for key in FIELDS if fields.get(key) is not None}
    return WorkspaceVote(
        SentJudgement(
            read_value(fields["vote"]), read_comment(known.get("user_comment")), read_tags(known.get("tags"))
        ),
        read_text(known.get("trace_id", trace_id), MAX_TRACE_CHARS),
        read_text(known.get("user_prompt"), None),
        read_text(known.get("ai_response"), None),
        known,
    )


def read_value(value: Any) -> Vote | None:
    """Null withdraws the vote. Raises `BadRequest`."""
    if value is None:
        return None
    vote = VOTES.get(as_text(value).lower())
    if vote is None:
        raise BadRequest(f"`vote` is {as_text(value)[:20]!r}; it must be `up`, `down` or null.")
    return vote


def read_comment(value: Any) -> str | None:
    """Workspace would not show an error, so a long comment is truncated."""
    text = read_text(value, None)
    if text is not None and len(text) > MAX_COMMENT_CHARS:
        logger.warning("truncated a comment of %d characters from Workspace to %d", len(text), MAX_COMMENT_CHARS)
        return truncate(text, MAX_COMMENT_CHARS)
    return text


def read_tags(value: Any) -> tuple[str, ...]:
    """Raises `BadRequest`."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise BadRequest("`tags` must be a list of texts.")
    return tuple(value)


def read_text(value: Any, max_chars: int | None) -> str | None:
    if value is None:
        return None
    return as_text(value).replace("\0", "")[:max_chars] or None


def truncate_quote(text: str | None) -> str | None:
    return text if text is None else truncate(text, MAX_QUOTE_CHARS)
