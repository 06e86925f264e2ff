"""Compares the client's messages with the stored thread, and determines what the request adds to it.

The client sends its whole conversation. The server has its own, and takes from the client only: new questions, results
of the page's tools, answers to pending questions, and which messages are still there. Everything else in the list may
be changed by anyone, so the stored messages are used instead.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from rightseat.core.approvals import APPROVAL
from rightseat.core.ask import Answer
from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.messages import Call, Message, Result
from rightseat.core.threads import Pending, Thread
from rightseat.core.types import JsonValue
from rightseat.faces.ai_sdk.decoder import (
    EXTRA_KEY,
    Json,
    UIChatBody,
    UIMessage,
    read_answer,
    read_assistant_text,
    read_user_message,
)
from rightseat.faces.ai_sdk.reply import MessageGroup, find_reply_id, group_messages, new_reply_id

logger = logging.getLogger(__name__)


class NothingToAnswer(RightseatError):
    """The client continues a message that waits for nothing."""

    code = "nothing_to_answer"
    status = 409


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """What a request asks for: the whole conversation with its new messages, and the id of the reply.

    `reply` is the existing part of a reply that is continued. `truncate_at` and `answers` are those of the ask.
    """

    messages: tuple[Message, ...]
    reply_id: str
    reply: MessageGroup | None = None
    truncate_at: str | None = None
    answers: tuple[Answer, ...] = ()
    is_continued: bool = False
    """The reply has a run already."""


def plan_turn(chat: UIChatBody, thread: Thread | None, pending: Sequence[Pending]) -> PlannedTurn:
    """Raises `BadRequest` or `NothingToAnswer`."""
    groups = group_messages(thread.messages) if thread else []
    if not groups:
        return begin_thread(chat.listed)
    places = {group.id: place for place, group in enumerate(groups)}
    last, open_reply = chat.listed[-1], find_open_reply(groups)
    if last.role == "assistant":
        if last.id != open_reply:
            raise NothingToAnswer(
                "This message cannot be continued: it is not the last one of the chat. Reload the page."
            )
        kept, new = list[MessageGroup](groups), list[UIMessage]()
    elif last.id in places:  # regenerated or edited
        kept, new = groups[: places[last.id]], [last]
    else:
        kept, new = split_new_messages(chat.listed, groups, places)
    is_waiting = bool(thread and thread.runs and thread.runs[-1].outcome == "waiting")
    replied = find_reply(chat.listed, kept)
    results = read_results(replied, kept[-1], pending) if replied and is_waiting else []
    answers = read_answers(chat, replied, pending if len(kept) == len(groups) else ())
    if not new and not results and not answers:
        raise NothingToAnswer("There is nothing to continue: the question was answered already, or it expired.")
    is_continued = open_reply is not None and not new
    reply_id = open_reply if open_reply is not None and is_continued else new_reply_id()
    return PlannedTurn(
        messages=(*(message for group in kept for message in group.messages), *results, *read_questions(new, reply_id)),
        reply_id=reply_id,
        reply=groups[-1] if groups[-1].is_reply and not new else None,
        truncate_at=groups[len(kept)].messages[0].id if len(kept) < len(groups) else None,
        answers=answers,
        is_continued=is_continued,
    )


def find_open_reply(groups: Sequence[MessageGroup]) -> str | None:
    """The id of the reply that a request may continue. A run that only asked a question has stored no message."""
    return groups[-1].id if groups[-1].is_reply else find_reply_id(groups[-1].messages)


def begin_thread(listed: Sequence[UIMessage]) -> PlannedTurn:
    """The server does not have this chat: the texts of the client's list become the thread."""
    if listed[-1].role != "user":
        raise NothingToAnswer("This chat is not stored on the server, so its last message cannot be continued.")
    reply_id = new_reply_id()
    earlier = [
        read_assistant_text(one) if one.role == "assistant" else read_user_message(one)
        for one in listed[:-1]
        if one.id != listed[-1].id
    ]
    return PlannedTurn((*(message for message in earlier if message), *read_questions(listed[-1:], reply_id)), reply_id)


def split_new_messages(
    listed: Sequence[UIMessage], groups: list[MessageGroup], places: dict[str, int]
) -> tuple[list[MessageGroup], list[UIMessage]]:
    """The groups that the client still has, and its new questions.

    A list without any known message is a client that sends new messages only, so the whole thread is kept.
    """
    known = [number for number, message in enumerate(listed) if message.id in places]
    if not known:
        kept, new = groups, listed
    else:
        kept, new = groups[: places[listed[known[-1]].id] + 1], listed[known[-1] + 1 :]
    if unknown := [message.id for message in new if message.role == "assistant"]:
        logger.info("ignored %d assistant messages that the server did not write", len(unknown))
    return kept, [message for message in new if message.role != "assistant"]


def read_questions(new: Sequence[UIMessage], reply_id: str) -> Iterable[Message]:
    for message in new:
        yield read_user_message(message, reply_id if message is new[-1] else None)


def find_reply(listed: Sequence[UIMessage], kept: Sequence[MessageGroup]) -> UIMessage | None:
    """The client's copy of the last reply, which may have results and answers."""
    if not kept or not kept[-1].is_reply:
        return None
    return next((message for message in reversed(listed) if message.id == kept[-1].id), None)


def read_results(replied: UIMessage, group: MessageGroup, pending: Sequence[Pending]) -> list[Message]:
    """The results of calls that the page had to run. A call that waits for a person is none of them."""
    asked = {waiting.call.id for waiting in pending if waiting.call}
    calls = {id: call for id, call in group.unanswered_calls().items() if id not in asked}
    found: dict[str, Message] = {}
    for part in replied.parts:
        call = calls.get(part.get("toolCallId") or "")
        if call is not None and (message := read_result(part, call)):
            found.setdefault(call.id, message)
    return list(found.values())


def read_result(part: Json, call: Call) -> Message | None:
    id = f"result-{call.id}"
    match part.get("state"):
        case "output-available":
            output: JsonValue = part.get("output")
            content = output if isinstance(output, str) else msgspec.json.encode(output).decode()
            extra: JsonValue = {EXTRA_KEY: {"is_text": True}} if isinstance(output, str) else None
            return Message("tool", (Result(call.id, call.name, content),), id=id, extra=extra)
        case "output-error":
            text = str(part.get("errorText") or "The tool failed.")
            return Message("tool", (Result(call.id, call.name, text, "tool_failed"),), id=id)
    return None


def read_answers(chat: UIChatBody, replied: UIMessage | None, pending: Sequence[Pending]) -> tuple[Answer, ...]:
    """Answers to pending questions only: a made-up approval is not one."""
    open_ids = {waiting.interrupt.id for waiting in pending}
    given = [read_answer(one) for one in chat.answers or ()]
    for answer in given:
        if answer.interrupt_id not in open_ids:
            raise BadRequest(f"No open question {answer.interrupt_id!r}: it was answered, or it expired.")
    approvals = {waiting.interrupt.id for waiting in pending if waiting.interrupt.reason == APPROVAL}
    for part in replied.parts if replied else ():
        match part:
            case {"state": "approval-responded", "approval": {"id": str(id), "approved": bool(approved), **more}}:
                if id in approvals:
                    payload: dict[str, JsonValue] = {"approved": approved}
                    if isinstance(reason := more.get("reason"), str):
                        payload["reason"] = reason
                    given.append(Answer(id, "resolved", payload))
    return tuple({answer.interrupt_id: answer for answer in given}.values())
