"""What users think of replies, by the ids of the client's messages.

A reply may consist of several runs. It is the last one that is judged, so a continued reply has one row for each state
in which it was judged.
"""

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.feedback import AnswerFinder
from rightseat.faces.ai_sdk.reply import group_messages, run_of_reply
from rightseat.operations.feedback import JudgedAnswer
from rightseat.operations.own_feedback import OwnFeedback


class ReplyFinder(AnswerFinder):
    def __init__(self, runtime: Runtime, feedback: OwnFeedback) -> None:
        super().__init__(feedback)
        self._runtime = runtime

    async def find(self, principal: Principal, id: str) -> JudgedAnswer | None:
        first = await self.feedback.find(principal, run_of_reply(id))
        if first is None:
            return await self.feedback.find(principal, id)
        last = await self._find_last(principal, first, id) or first
        return msgspec.structs.replace(last, message=id)

    async def _find_last(self, principal: Principal, first: JudgedAnswer, id: str) -> JudgedAnswer | None:
        """The last run of the reply, if it is not the first."""
        thread = await self._runtime.settled(first.thread, principal) if first.thread else None
        groups = group_messages(thread.messages) if thread else ()
        messages = next((group.messages for group in groups if group.is_reply and group.id == id), ())
        replies = [message for message in messages if message.role == "assistant"]
        return await self.feedback.find(principal, replies[-1].id) if replies else None
