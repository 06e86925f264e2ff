"""Groups the messages of a thread as AI SDK clients show them: a question, and one message for everything after it.

One assistant's message of a client is the result of several model responses, tool results and runs. Its id must be
known before the first of them, so the question stores it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Message, Result
from rightseat.core.types import JsonValue
from rightseat.faces.ai_sdk.decoder import EXTRA_KEY


@dataclass(slots=True)
class MessageGroup:
    """One message of the client, with the stored messages that it consists of."""

    id: str
    is_reply: bool
    messages: list[Message] = field(default_factory=list)

    def unanswered_calls(self) -> dict[str, Call]:
        """Tool calls without a result, by id."""
        parts = [part for message in self.messages for part in message.parts]
        returned = {part.call_id for part in parts if isinstance(part, Result)}
        return {part.id: part for part in parts if isinstance(part, Call) and part.id not in returned}


def new_reply_id() -> str:
    return new_id("msg")


def run_of_reply(id: str) -> str:
    """The id of the run that begins the reply with this id, so that nothing has to store which run that is."""
    return f"run_{id.removeprefix('msg_')}"


def group_messages(messages: Iterable[Message]) -> list[MessageGroup]:
    groups: list[MessageGroup] = []
    for message in messages:
        if message.role in ("user", "system"):
            groups.append(MessageGroup(message.id, False, [message]))
        elif groups and groups[-1].is_reply:
            groups[-1].messages.append(message)
        else:
            id = find_reply_id(groups[-1].messages) if groups else None
            groups.append(MessageGroup(id or message.id, True, [message]))
    return groups


def find_reply_id(messages: Sequence[Message]) -> str | None:
    """The id of the client's message that answers the last of these messages, if it is a question of this face."""
    reply = read_extra(messages[-1]).get("reply") if messages else None
    return reply if isinstance(reply, str) else None


def read_extra(message: Message) -> dict[str, JsonValue]:
    """This protocol's data of a message."""
    extra = message.extra.get(EXTRA_KEY) if isinstance(message.extra, dict) else None
    return extra if isinstance(extra, dict) else {}
