"""Pending approvals and questions of a chat, because OpenBB Workspace has no form for them.

They are asked and answered as chat text. Each is stored in this process and removed by the next message of the chat, so
that nothing is approved twice. A reply after a restart, or to another process, gets `NOT_OPEN`.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple

from rightseat.core.approvals import ApprovalOutcome, record_closed
from rightseat.core.ask import Answer
from rightseat.core.errors import BadRequest
from rightseat.core.messages import Message
from rightseat.faces.openbb.replies import REPLY_MARK, PendingQuestion, is_decision, read_reply
from rightseat.faces.openbb.request.types import Query, TextMessage

MAX_PENDING_CHATS = 1024  # the oldest is dropped first
MAX_PENDING_S = 24 * 3600.0

NOT_OPEN = (
    "That question is not open: it was already answered, it expired, or the server was restarted. "
    "Nothing was done. Please ask again."
)


class ChatKey(NamedTuple):
    """Identifies a chat: its user, its agent and Workspace's id for it."""

    principal: str
    agent: str
    id: str


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """A person's reply. `messages` resume the run if calls of a model are waiting; else the chat itself is enough."""

    answers: tuple[Answer, ...]
    waiting: PendingQuestion

    @property
    def messages(self) -> tuple[Message, ...] | None:
        return self.waiting.messages if any(answer.call for answer in self.answers) else None


class PendingQuestions:
    def __init__(self) -> None:
        self._pending: dict[ChatKey, tuple[float, PendingQuestion]] = {}

    def add(self, chat: ChatKey, waiting: PendingQuestion) -> None:
        now = time.monotonic()
        self._pending.pop(chat, None)
        while self._pending and (
            len(self._pending) >= MAX_PENDING_CHATS or now - next(iter(self._pending.values()))[0] > MAX_PENDING_S
        ):
            oldest = next(iter(self._pending))
            record_unanswered(oldest, self._pending.pop(oldest)[1], "expired")
        self._pending[chat] = (now, waiting)

    def take_reply(self, chat: ChatKey, query: Query) -> QuestionReply | None:
        """Return the reply in the last message of the chat; None if the message is a new question.

        Raise `BadRequest` if it replies to a question that is not open, or is not a valid reply: then the question
        stays open.
        """
        text = last_user_text(query)
        if text is None:
            return None
        since, waiting = self._pending.get(chat, (0.0, None))
        if waiting is None or time.monotonic() - since > MAX_PENDING_S:
            self._pending.pop(chat, None)
            if waiting is not None:
                record_unanswered(chat, waiting, "expired")
            if ends_with_question(query) and (is_decision(text) or not is_about_approval(query)):
                raise BadRequest(NOT_OPEN)
            return None
        answers = read_reply(waiting, text)
        del self._pending[chat]
        if answers is None:
            record_unanswered(chat, waiting, "cancelled")
            return None
        return QuestionReply(answers, waiting)


def record_unanswered(chat: ChatKey, waiting: PendingQuestion, outcome: ApprovalOutcome) -> None:
    for one in waiting.interrupts:
        record_closed(chat.principal, chat.agent, one, waiting.call_of(one), outcome)


def last_user_text(query: Query) -> str | None:
    """The last message of the user. A task from another agent does not count as approval."""
    last, sent = query.messages[-1], query.raw.get("messages")
    is_user = isinstance(sent, list) and isinstance(sent[-1], dict) and sent[-1].get("role") == "human"
    return last.text.strip() if isinstance(last, TextMessage) and is_user else None


def previous_agent_text(query: Query) -> str:
    earlier = query.messages[-2] if len(query.messages) > 1 else None
    return earlier.text if isinstance(earlier, TextMessage) and not earlier.is_user else ""


def ends_with_question(query: Query) -> bool:
    return REPLY_MARK in previous_agent_text(query)


def is_about_approval(query: Query) -> bool:
    return f"{REPLY_MARK} **allow**" in previous_agent_text(query)
