"""Finds where a response belongs: its thread, and the messages before it.

A response continues the thread of the previous one. If another response has continued it already, the conversation
branches: the new response begins a thread of its own, with a copy of the messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rightseat.core.ask import Answer, Principal
from rightseat.core.ids import new_id
from rightseat.core.messages import Message, Result, Text
from rightseat.core.runtime import Runtime
from rightseat.core.types import JsonValue
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.conversation_store import ConversationNotFound, ConversationStore
from rightseat.faces.openai.responses.decoder import ResponsesRequest
from rightseat.faces.openai.responses.encoder import KEY
from rightseat.faces.openai.responses.input_items import ApprovalResponseItem, ItemHead, calls_of
from rightseat.faces.openai.responses.message_marks import MARK, read_mark
from rightseat.faces.openai.responses.request_tools import decode_at
from rightseat.faces.openai.responses.response_record import AnsweredCall, ResponseRecord
from rightseat.faces.openai.responses.response_store import ITEM_ID, ResponseNotFound, ResponseStore


class UnknownConversation(InvalidRequest):
    status = 404

    def __init__(self, message: str) -> None:
        super().__init__(message, "conversation", "conversation_not_found")


@dataclass(frozen=True, slots=True)
class ResponsePlace:
    """Where a response begins. `is_new` means that its thread does not exist yet.

    `repeats_input` means that the client sent the earlier conversation again, although the thread has it.
    """

    thread_id: str
    messages: tuple[Message, ...] = ()
    start: int = 0
    is_new: bool = True
    repeats_input: bool = False

    @property
    def calls(self) -> dict[str, str]:
        return calls_of(self.messages)


class HistoryFinder:
    def __init__(self, runtime: Runtime, store: ResponseStore, conversations: ConversationStore) -> None:
        self._runtime = runtime
        self._store = store
        self._conversations = conversations

    async def find_place(self, request: ResponsesRequest, principal: Principal) -> ResponsePlace:
        """Raises `InvalidRequest`."""
        approvals = find_approvals(request)
        if approvals and not request.is_stored:
            text = "Approvals cannot be answered with `store: false`: the request is stored with its conversation."
            raise InvalidRequest(text, "store")
        if id := request.body.previous_response_id:
            try:
                record = await self._store.find(id, principal)
            except ResponseNotFound as error:
                text = f"Previous response with id '{id[:100]}' not found."
                raise InvalidRequest(text, "previous_response_id", "previous_response_not_found") from error
            return await self._after(record, principal, is_answer=bool(approvals), param="previous_response_id")
        if id := request.conversation:
            return await self._in_conversation(id, principal)
        if approvals:
            record = await self._find_asking(approvals[0], principal)
            place = await self._after(record, principal, is_answer=True, param="input")
            return replace(place, repeats_input=True)
        return ResponsePlace(new_id("thread"))

    async def _in_conversation(self, id: str, principal: Principal) -> ResponsePlace:
        try:
            found = await self._conversations.find(id, principal)
            thread = await self._conversations.load_thread(found, principal)
        except ConversationNotFound as error:
            raise UnknownConversation(error.message) from error
        return ResponsePlace(thread.id, visible(thread.messages), len(thread.messages), is_new=False)

    async def _after(
        self, record: ResponseRecord, principal: Principal, *, is_answer: bool, param: str
    ) -> ResponsePlace:
        thread = await self._runtime.settled(record.thread_id, principal)
        run = next((one for one in thread.runs if one.id == record.run_id), None) if thread else None
        if thread is None or run is None:
            text = f"Previous response with id '{record.id}' not found."
            raise InvalidRequest(text, param, "previous_response_not_found")
        if run.outcome is None:
            text = f"Response '{record.id}' is still in progress. Wait for its end, or cancel it."
            raise InvalidRequest(text, param, "response_in_progress")
        if is_answer or thread.runs[-1].id == run.id:
            return ResponsePlace(thread.id, visible(thread.messages), len(thread.messages), is_new=False)
        messages = visible(await self._store.history(record, thread, principal))
        return ResponsePlace(new_id("thread"), messages, len(messages))

    async def _find_asking(self, approval: ApprovalResponseItem, principal: Principal) -> ResponseRecord:
        """The response that asked for the approval."""
        parsed = ITEM_ID.fullmatch(approval.approval_request_id)
        try:
            return await self._store.find(f"resp_{parsed[2]}" if parsed else "", principal)
        except ResponseNotFound as error:
            raise unknown_approval(approval) from error

    async def read_answers(
        self, approvals: list[ApprovalResponseItem], thread_id: str, model: str, principal: Principal
    ) -> tuple[tuple[Answer, ...], tuple[AnsweredCall, ...]]:
        """The answers to the server's own questions. Raises `InvalidRequest` if one is not open any more."""
        pending = {one.interrupt.id: one for one in await self._runtime.pending(principal, thread_id)}
        answers: dict[str, Answer] = {}
        calls: list[AnsweredCall] = []
        for approval in approvals:
            record = await self._find_asking(approval, principal)
            question = pending.get(await self._find_interrupt(approval.approval_request_id, record, principal))
            if question is None or question.run_id != record.run_id or question.interrupt.id in answers:
                raise unknown_approval(approval)
            if question.agent != model:
                text = f"The approval belongs to a response of {question.agent!r}. Send that as the `model`."
                raise InvalidRequest(text, "model")
            payload: dict[str, JsonValue] = {"approved": approval.approve}
            if approval.reason:
                payload["reason"] = approval.reason
            answers[question.interrupt.id] = Answer(question.interrupt.id, "resolved", payload)
            if call := question.call:
                calls.append(AnsweredCall(call.id, call.name, call.arguments, approval.approval_request_id))
        return tuple(answers.values()), tuple(calls)

    async def _find_interrupt(self, request_id: str, record: ResponseRecord, principal: Principal) -> str:
        """The interrupt of an approval request. An agent of its own may have ids that only the log can tell."""
        key = request_id.rpartition("_")[2]
        if KEY.fullmatch(key):
            return f"interrupt_{key}"
        return (await self._store.load(record, principal)).approvals.get(request_id, "")


def find_approvals(request: ResponsesRequest) -> list[ApprovalResponseItem]:
    given = request.body.input
    places = [(f"input[{number}]", raw) for number, raw in enumerate(given if isinstance(given, list) else ())]
    kind = "mcp_approval_response"
    return [
        decode_at(where, raw, ApprovalResponseItem)
        for where, raw in places
        if decode_at(where, raw, ItemHead).type == kind
    ]


def unknown_approval(approval: ApprovalResponseItem) -> InvalidRequest:
    id = approval.approval_request_id[:100]
    text = f"There is no open approval request with id '{id}': it was answered, it expired, or it never existed."
    return InvalidRequest(text, "input", "approval_request_not_found")


def visible(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Without the instructions of earlier responses, which only held for them, and items without text."""
    return tuple(message for message in messages if message.parts and read_mark(message) != "instructions")


def prefer_client_results(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Without the server's notice that a tool is unknown, for calls whose result the client sent later."""
    results = [part for message in messages for part in message.parts if isinstance(part, Result)]
    known = {one.call_id for one in results if one.error != "unknown_tool"}
    return tuple(message for message in messages if not is_overruled(message, known))


def is_overruled(message: Message, known: set[str]) -> bool:
    match message.parts:
        case (Result(error="unknown_tool", call_id=call_id),):
            return call_id in known
    return False


def write_instructions(text: str) -> Message:
    return Message("system", (Text(text),), extra={MARK: "instructions"})
