"""Converts the events of a run to the blocks of one message.

Blocks come one after the other: what belongs to a later block waits until the one before has stopped. A run may have
several model responses with server-side tool calls between them; each text of them is a block of its own.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never

from rightseat.core import events as e
from rightseat.core.approvals import explain_permission
from rightseat.core.errors import GuardDenied
from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.core.usage import add_usage
from rightseat.faces._shared.run_warnings import describe_warning
from rightseat.faces.anthropic.error_form import ErrorReply
from rightseat.faces.anthropic.stop_sequences import StopWatcher

REASONS: dict[e.StopReason, str] = {
    "stop": "end_turn",
    "tool_calls": "end_turn",
    "length": "max_tokens",
    "filtered": "refusal",
}
QUESTION = "{message}"
APPROVAL_REQUIRED = "{names} needs approval and was not run: {message} {permission}"
REPLACED = "The server generates the answer again. Send the request again."
SERVER_NAME = "rightseat"

BlockKind = Literal["text", "thinking", "tool_use", "mcp_tool_use", "mcp_tool_result"]
DELTAS: dict[BlockKind, tuple[str, str]] = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
    "mcp_tool_use": ("input_json_delta", "partial_json"),
}
"""The type of a delta, and the name of its text."""


@dataclass(frozen=True, slots=True)
class BlockStart:
    index: int
    block: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class BlockDelta:
    index: int
    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class BlockStop:
    index: int


@dataclass(frozen=True, slots=True)
class ReplyEnd:
    """`explanation` is why the answer was refused."""

    reason: str
    sequence: str | None = None
    explanation: str | None = None


ReplyPiece = BlockStart | BlockDelta | BlockStop | ReplyEnd | ErrorReply


class OpenBlock:
    """A block that has not stopped. `texts` wait until the blocks before it have stopped."""

    __slots__ = ("block", "has_ended", "index", "kind", "read", "signature", "texts")

    def __init__(self, kind: BlockKind, block: dict[str, JsonValue]) -> None:
        self.kind: BlockKind = kind
        self.block = block
        self.index = -1
        self.has_ended = False
        self.texts: list[str] = []
        self.read: list[str] = []
        """The text of a thinking block, which its signature covers."""
        self.signature = ""


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What the client asked for. `sign` makes the signature of a thinking block with this text.

    With `has_unlisted_tools` a call of a tool that is not `offered` is the client's too if the run waits for its result
    and for nothing else. `paused` are calls of an earlier reply that waited for a person: their names and the ids that
    the client has, by our ids.
    """

    offered: frozenset[str]
    sign: Callable[[str], str]
    shows_thinking: bool = False
    omits_thinking: bool = False
    shows_server_tools: bool = False
    has_unlisted_tools: bool = False
    stop_sequences: tuple[str, ...] = ()
    paused: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class ReplyReader:
    """The last piece is `ReplyEnd` or an `ErrorReply`; nothing follows it. `usage` is then complete."""

    __slots__ = (
        "_before",
        "_blocks",
        "_calls",
        "_count",
        "_open",
        "_options",
        "_reason",
        "_server_calls",
        "_stops",
        "_unknown",
        "_unlisted_calls",
        "has_client_calls",
        "has_ended",
        "open_text",
        "output_chars",
        "pauses",
        "shown_ids",
        "usage",
        "warn",
    )

    def __init__(self, options: ReplyOptions, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self.usage: e.Usage | None = None  # None if the model does not report it
        self._before: e.Usage | None = None  # of runs before the current one: a person's decision begins another run
        self.has_ended = False
        self.pauses = False
        """The client may send the message back while it waits for a person."""
        self.open_text: tuple[str, int] | None = None
        """The id of the text whose deltas can be written as they are, and the index of its block."""
        self.output_chars = 0
        self._options = options
        self._offered_calls()
        self._blocks: deque[OpenBlock] = deque()
        self._open: dict[str, OpenBlock] = {}
        self._count = 0
        self._reason: e.StopReason = "stop"
        self._stops = StopWatcher(options.stop_sequences) if options.stop_sequences else None

    def _offered_calls(self) -> None:
        self._calls: set[str] = set(self._options.offered)
        self.has_client_calls = False
        self._server_calls = {id: name for id, (name, _) in self._options.paused.items()}  # id → tool
        self.shown_ids = {id: shown for id, (_, shown) in self._options.paused.items()}
        """The ids that the client has of server-side calls. Ours come from the model, and need not be unique."""
        self._unknown: list[str] = []  # unknown tools that were called in the last response
        self._unlisted_calls: dict[str, list[str]] = {}  # id → arguments of calls that may be the client's

    def shown_calls(self) -> dict[str, tuple[str, str]]:
        """The server-side calls that the client received: their names and the client's ids, by our ids."""
        return {id: (self._server_calls[id], shown) for id, shown in self.shown_ids.items()}

    @property
    def stopped_at(self) -> str | None:
        """The stop sequence that ended the answer before the model did."""
        return self._stops.matched if self._stops else None

    def feed(self, events: Iterable[e.Event]) -> Iterator[ReplyPiece]:
        for event in events:
            if self.has_ended:
                return
            yield from self._take(event)

    def _take(self, event: e.Event) -> Iterable[ReplyPiece]:
        match event:
            case e.TextDelta(message_id=id, text=text):
                return self._add_text(id, text)
            case e.TextEnded(message_id=id):
                return self._end_text(id)
            case e.ReasoningDelta(message_id=id, text=text) if self._options.shows_thinking:
                return self._add_thinking(id, text)
            case e.ReasoningEnded(message_id=id):
                return self._end(id)
            case e.ToolCallStarted():
                return self._begin_call(event)
            case e.ToolCallDelta(call_id=id, text=text):
                if id in self._unlisted_calls:
                    self._unlisted_calls[id].append(text)
                return self._add(id, text)
            case e.ToolCallEnded(call_id=id):
                return self._end(id)
            case e.ToolCallReturned():
                return self._add_result(event)
            case e.ModelResponseEnded():
                self._end_response(event)
            case e.Custom(name=name, value=value):
                self._note(name, value)
            case e.RunFinished():
                return self._finish(event)
            case e.RunFailed(code=code, message=message):
                return self._fail(code, message)
            case e.MessagesReplaced():
                return self._fail("cancelled", REPLACED) if self._count else ()
            case e.RunStarted():
                self._before = self.usage
            case e.TextStarted() | e.ReasoningStarted() | e.ReasoningDelta():
                pass  # a block starts with its first text
            case (
                e.StateReplaced() | e.StateChanged() | e.StepStarted() | e.StepEnded() | e.SpanStarted() | e.SpanEnded()
            ):
                pass  # not part of the protocol
            case _:
                assert_never(event)
        return ()

    def _add_text(self, id: str, text: str) -> Iterable[ReplyPiece]:
        if self._stops is None:
            return self._show_text(id, text)
        return self._cut(id, self._stops.feed(text))

    def _cut(self, id: str, text: str) -> Iterator[ReplyPiece]:
        yield from self._show_text(id, text)
        if self.stopped_at is not None:
            yield from self._end(id)
            yield from self._close(ReplyEnd("stop_sequence", self.stopped_at))

    def _show_text(self, id: str, text: str) -> Iterator[ReplyPiece]:
        if not text:
            return
        if id not in self._open:
            yield from self._begin(id, "text", {"type": "text", "text": ""})
            if self._stops is None and (block := self._open[id]) is self._blocks[0]:
                self.open_text = (id, block.index)
        yield from self._add(id, text)

    def _end_text(self, id: str) -> Iterator[ReplyPiece]:
        if self._stops is not None and (held := self._stops.flush()):
            yield from self._show_text(id, held)
        yield from self._end(id)

    def _add_thinking(self, id: str, text: str) -> Iterator[ReplyPiece]:
        if not text:
            return
        if id not in self._open:
            yield from self._begin(id, "thinking", {"type": "thinking", "thinking": "", "signature": ""})
        self._open[id].read.append(text)
        if not self._options.omits_thinking:
            yield from self._add(id, text)

    def _begin_call(self, event: e.ToolCallStarted) -> Iterable[ReplyPiece]:
        id, name = event.call_id, event.name
        if name in self._calls:
            return self._begin_client_call(id, name)
        self._server_calls[id] = name
        if self._options.has_unlisted_tools:
            self._unlisted_calls[id] = []
        if not self._options.shows_server_tools:
            return ()
        shown_id = self.shown_ids.setdefault(id, new_id("mcptoolu"))
        block: dict[str, JsonValue] = {"type": "mcp_tool_use", "id": shown_id, "name": name, "server_name": SERVER_NAME}
        return self._begin(id, "mcp_tool_use", block | {"input": {}})

    def _begin_client_call(self, id: str, name: str) -> Iterator[ReplyPiece]:
        self.has_client_calls = True
        return self._begin(id, "tool_use", {"type": "tool_use", "id": id, "name": name, "input": {}})

    def _show_unlisted_calls(self) -> Iterator[ReplyPiece]:
        for id, arguments in self._unlisted_calls.items():
            yield from self._begin_client_call(id, self._server_calls.pop(id))
            yield from self._add(id, "".join(arguments))
            yield from self._end(id)

    def _add_result(self, event: e.ToolCallReturned) -> Iterable[ReplyPiece]:
        self._unlisted_calls.pop(event.call_id, None)
        if event.error == "unknown_tool":
            self._unknown.append(event.name)
        if not self._options.shows_server_tools or event.call_id not in self._server_calls:
            return ()
        content: list[JsonValue] = [{"type": "text", "text": event.content}]
        shown_id = self.shown_ids.setdefault(event.call_id, new_id("mcptoolu"))
        block: dict[str, JsonValue] = {"type": "mcp_tool_result", "tool_use_id": shown_id}
        return self._add_whole(event.call_id, block | {"is_error": event.error is not None, "content": content})

    def _add_whole(self, id: str, block: dict[str, JsonValue]) -> Iterator[ReplyPiece]:
        yield from self._begin(f"result {id}", "mcp_tool_result", block)
        yield from self._end(f"result {id}")

    def _begin(self, id: str, kind: BlockKind, block: dict[str, JsonValue]) -> Iterator[ReplyPiece]:
        self.open_text = None
        opened = self._open[id] = OpenBlock(kind, block)
        self._blocks.append(opened)
        if opened is self._blocks[0]:
            yield self._start(opened)

    def _start(self, opened: OpenBlock) -> BlockStart:
        opened.index = self._count
        self._count += 1
        return BlockStart(opened.index, opened.block)

    def _add(self, id: str, text: str) -> Iterable[ReplyPiece]:
        opened = self._open.get(id)
        if opened is None or not text:
            return ()
        self.output_chars += len(text)
        if opened is not self._blocks[0]:
            opened.texts.append(text)
            return ()
        return (BlockDelta(opened.index, *DELTAS[opened.kind], text),)

    def _end(self, id: str) -> Iterator[ReplyPiece]:
        """Stop the block, and show those that waited for it."""
        if self.open_text is not None and self.open_text[0] == id:
            self.open_text = None
        if (opened := self._open.pop(id, None)) is None:
            return
        opened.has_ended = True
        if opened.kind == "thinking":
            opened.signature = self._options.sign("".join(opened.read))
        while self._blocks and self._blocks[0].has_ended:
            yield from self._stop(self._blocks.popleft())
            if self._blocks:
                yield self._start(self._blocks[0])
                yield from self._flush(self._blocks[0])

    def _flush(self, opened: OpenBlock) -> Iterator[ReplyPiece]:
        if opened.texts:
            yield BlockDelta(opened.index, *DELTAS[opened.kind], "".join(opened.texts))
            opened.texts.clear()

    def _stop(self, opened: OpenBlock) -> Iterator[ReplyPiece]:
        if opened.signature:
            yield BlockDelta(opened.index, "signature_delta", "signature", opened.signature)
        yield BlockStop(opened.index)

    def _end_response(self, event: e.ModelResponseEnded) -> None:
        self._unknown.clear()  # the model received the error and responded again
        self._reason = event.reason
        if event.usage is not None:
            self.usage = add_usage(self.usage, event.usage) if self.usage else event.usage

    def _note(self, name: str, value: JsonValue) -> None:
        if warning := describe_warning(name, value):
            self.warn(warning)
        if name == "tools.shadowed" and isinstance(value, list):
            self._calls.difference_update(map(str, value))

    def _finish(self, event: e.RunFinished) -> Iterator[ReplyPiece]:
        if event.usage is not None:  # that of the run has the model calls without a response of their own
            self.usage = add_usage(self._before, event.usage) if self._before else event.usage
        if event.outcome == "cancelled":
            yield from self._fail("cancelled", event.reason or "The run was cancelled before it finished.")
            return
        if event.interrupts:
            yield from self._ask(event.interrupts)
        elif event.outcome == "waiting":  # for the client alone: a call of the server would wait for a person
            yield from self._show_unlisted_calls()
        for name in self._unknown:
            self.warn(f"The model called {name!r}, which is not one of the tools; the call was ignored.")
        if self.has_client_calls and self._server_calls and not self._options.shows_server_tools:
            listed = ", ".join(sorted(set(self._server_calls.values())))
            self.warn(f"The agent also ran tools of its own, whose results the next request will not have: {listed}.")
        if event.interrupts and self.pauses:
            yield from self._close(ReplyEnd("pause_turn"))
            return
        calls = self.has_client_calls and self._reason in ("stop", "tool_calls")
        yield from self._close(ReplyEnd("tool_use" if calls else REASONS[self._reason]))

    def _ask(self, interrupts: Iterable[e.Interrupt]) -> Iterator[ReplyPiece]:
        """The questions in words: the protocol has no form for them."""
        for one in interrupts:
            yield from self._show_text(f"question {one.id}", self._write_question(one))
            yield from self._end(f"question {one.id}")

    def _write_question(self, one: e.Interrupt) -> str:
        name = self._server_calls.get(one.call_id or "")
        if name is None:
            return QUESTION.format(message=one.message)
        return APPROVAL_REQUIRED.format(names=name, message=one.message, permission=explain_permission([name]))

    def _fail(self, code: str, message: str) -> Iterator[ReplyPiece]:
        if code == GuardDenied.code:
            yield from self._close(ReplyEnd("refusal", explanation=message))
            return
        self.has_ended = True
        yield ErrorReply.of_run(code, message)

    def _close(self, end: ReplyEnd) -> Iterator[ReplyPiece]:
        """Stop what is open, and end."""
        for id in list(self._open):
            yield from self._end(id)
        self.has_ended = True
        yield end
