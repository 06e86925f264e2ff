"""Questions to a person, in a client that has no form for them: they are asked in the chat, and answered there.

What waits is kept in this process, under the chat: the newest message of the chat takes it away, so nothing is allowed
twice. One that comes to another process, or after a restart, is told that the question is not open any more.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple

from rightseat.core.approvals import Outcome, record_closed
from rightseat.core.ask import Answer
from rightseat.core.errors import BadAsk
from rightseat.core.messages import Message
from rightseat.faces.openbb.asking import Query, Said
from rightseat.faces.openbb.replies import MARK, Waiting, is_decision, read_reply

MOST = 1024  # chats that wait; the oldest is forgotten first
LONGEST = 24 * 3600.0  # seconds

NOT_OPEN = (
    "That question is not open any more: it was answered, it has expired, or the server was started anew. "
    "Nothing was done. Ask for it once more."
)


class Chat(NamedTuple):
    """Whose chat it is, with which agent, and what Workspace calls it."""

    principal: str
    agent: str
    id: str


@dataclass(frozen=True, slots=True)
class Reply:
    """`messages` are what the run goes on with, where calls of a model wait; else the chat has all that it needs."""

    answers: tuple[Answer, ...]
    waiting: Waiting

    @property
    def messages(self) -> tuple[Message, ...] | None:
        return self.waiting.messages if any(answer.call for answer in self.answers) else None


class Questions:
    def __init__(self) -> None:
        self._kept: dict[Chat, tuple[float, Waiting]] = {}

    def keep(self, chat: Chat, waiting: Waiting) -> None:
        now = time.monotonic()
        self._kept.pop(chat, None)
        while self._kept and (len(self._kept) >= MOST or now - next(iter(self._kept.values()))[0] > LONGEST):
            oldest = next(iter(self._kept))
            record_unanswered(oldest, self._kept.pop(oldest)[1], "expired")
        self._kept[chat] = (now, waiting)

    def take(self, chat: Chat, query: Query) -> Reply | None:
        """What the newest message of the chat answers; None where it is a question of its own.

        Raises `BadAsk` where it answers what is not open, or cannot be read as an answer: then the question stays open.
        """
        text = last_words(query)
        if text is None:
            return None
        since, waiting = self._kept.get(chat, (0.0, None))
        if waiting is None or time.monotonic() - since > LONGEST:
            self._kept.pop(chat, None)
            if waiting is not None:
                record_unanswered(chat, waiting, "expired")
            if was_asked(query) and (is_decision(text) or not is_about_leave(query)):
                raise BadAsk(NOT_OPEN)
            return None
        answers = read_reply(waiting, text)
        del self._kept[chat]
        if answers is None:
            record_unanswered(chat, waiting, "cancelled")
            return None
        return Reply(answers, waiting)


def record_unanswered(chat: Chat, waiting: Waiting, outcome: Outcome) -> None:
    for one in waiting.asked:
        record_closed(chat.principal, chat.agent, one, waiting.call_of(one), outcome)


def last_words(query: Query) -> str | None:
    """What a person wrote last: another agent's task is no person's leave."""
    last, sent = query.messages[-1], query.raw.get("messages")
    is_person = isinstance(sent, list) and isinstance(sent[-1], dict) and sent[-1].get("role") == "human"
    return last.text.strip() if isinstance(last, Said) and is_person else None


def asked_before(query: Query) -> str:
    earlier = query.messages[-2] if len(query.messages) > 1 else None
    return earlier.text if isinstance(earlier, Said) and not earlier.human else ""


def was_asked(query: Query) -> bool:
    return MARK in asked_before(query)


def is_about_leave(query: Query) -> bool:
    return f"{MARK} **allow**" in asked_before(query)
