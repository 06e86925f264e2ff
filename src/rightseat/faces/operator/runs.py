"""Agents, and their runs: start, list, read, stop."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Literal

import msgspec
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.agent import Agent, ListsPlugins, is_durable
from rightseat.core.ask import Ask, Principal, includes_agent
from rightseat.core.errors import AgentNotFound, BadRequest
from rightseat.core.events import Event, RunFailed, RunStarted
from rightseat.core.ids import new_id
from rightseat.core.messages import Message, Part, Text, build_media, media_kind, truncate_messages
from rightseat.core.run.spans import SpanHistory
from rightseat.core.runtime import Runtime
from rightseat.faces._shared import files
from rightseat.faces._shared.lost_log import read_entries, read_or_nothing
from rightseat.faces._shared.pieces_response import PiecesResponse
from rightseat.faces._shared.queued_start import start_connected
from rightseat.faces._shared.responses import json_response, read_number
from rightseat.faces.operator.entries import join_entries, write_entry
from rightseat.faces.operator.queries import read_choice, read_run_query
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.faces.operator.run_line import RunLine, StartedRun, StoppedRun, build_run_line
from rightseat.faces.operator.span_line import SpanLine, TotalsLine, build_span_lines, build_totals
from rightseat.operations.rights import OperatorNotFound
from rightseat.operations.service import Operations
from rightseat.wire.json_pieces import encode_pieces, join_pieces

MAX_ENTRIES = 5000  # in one page
MAX_QUESTIONS = 6  # of an agent
NDJSON = "application/x-ndjson"


class Attachment(msgspec.Struct):
    """A file of the user, as base64 in `data`."""

    media_type: str
    data: str
    name: str = ""
    type: Literal["file"] = "file"


class NewRun(msgspec.Struct):
    """`replaces` is a message of the user in this thread: it and all messages after it are removed. `text` is asked in
    its place, with its attachments; without a text the same message is asked again."""

    thread: str | None = None
    replaces: str | None = None
    text: str = ""
    parts: tuple[Attachment, ...] = ()


class AgentLine(msgspec.Struct, frozen=True):
    """`questions` are examples."""

    name: str
    description: str
    durable: bool
    questions: Sequence[str]


class RunPage(msgspec.Struct, frozen=True):
    """`next` is the `after` of the next page."""

    runs: Sequence[RunLine]
    next: str | None


class RunDetails(RunLine, frozen=True, kw_only=True):
    """A run with its timeline, and the sums over it."""

    spans: Sequence[SpanLine]
    totals: TotalsLine


class RunRoutes:
    def __init__(self, runtime: Runtime, auth: RouteAuth, operations: Operations) -> None:
        self._runtime = runtime
        self._auth = auth
        self._operations = operations
        self._prices = operations.prices

    def routes(self) -> Routes:
        return {
            ("GET", "agents"): self.agents,
            ("POST", "agents/{agent:path}/runs"): self.start,
            ("GET", "runs"): self.list,
            ("GET", "runs/{run}"): self.show,
            ("GET", "runs/{run}/entries"): self.entries,
            ("POST", "runs/{run}/stop"): self.stop,
            ("GET", "files/{file}"): self.file,
        }

    async def agents(self, request: OperatorRequest) -> Response:
        """`questions` are examples, in the `language` of the query where the plugin has it.

        With `right=watch` those that the request may watch, for the filters of lists.
        """
        query = request.http.query_params
        language = query.get("language")
        may_watch = partial(includes_agent, request.rights.watch)
        is_watched = read_choice(query, "right", ("use", "watch")) == "watch"
        agents = self._runtime.agents if is_watched else self._list_agents(request.principal)
        return json_response(
            [
                AgentLine(
                    name,
                    agent.description,
                    is_durable(agent),
                    list_questions(agent, request.principal, language),
                )
                for name, agent in agents.items()
                if not is_watched or may_watch(name)
            ]
        )

    def _list_agents(self, principal: Principal) -> dict[str, Agent]:
        return {name: agent for name, agent in self._runtime.agents.items() if self._auth.may_use(principal, name)}

    async def start(self, request: OperatorRequest) -> Response:
        """The run continues without this client: `live` follows it."""
        agent, wanted = request.id("agent"), request.read(NewRun)
        if agent not in self._runtime.agents:
            raise AgentNotFound(agent, self._list_agents(request.principal))
        self._auth.check_agent(request.principal, agent)
        if not wanted.text and not wanted.parts and wanted.replaces is None:
            raise BadRequest("Send a `text` or an attachment in `parts`.")
        thread_id = wanted.thread or new_id("thread")
        thread = await self._runtime.settled(thread_id, request.principal) if wanted.thread else None
        messages = thread.messages if thread else ()
        question = Message("user", tuple(read_parts(wanted)))
        if wanted.replaces is not None:
            question = replace_question(find_question(messages, wanted.replaces), question)
        ask = Ask(
            messages=(*truncate_messages(messages, wanted.replaces), question),
            agent=agent,
            thread_id=thread_id,
            principal=request.principal,
            face="operator",
            truncate_at=wanted.replaces,
        )
        await start_connected(self._runtime, request.http, self._runtime.start(ask))
        return json_response(StartedRun(thread_id, ask.run_id), 202)

    async def list(self, request: OperatorRequest) -> Response:
        """Stored runs, and the last transient runs of this process."""
        page = await self._operations.list_runs(request.operator, read_run_query(request))
        lines = [build_run_line(row.record, self._prices, is_kept=row.is_kept) for row in page.rows]
        return json_response(RunPage(lines, page.next))

    async def show(self, request: OperatorRequest) -> Response:
        """The run with its spans, and the sums over them. Of a run in progress, those so far."""
        with suppress(OperatorNotFound):
            transient = self._operations.find_transient_run(request.operator, request.id("run"))
            line = build_run_line(transient.record, self._prices, is_kept=False)
            return self._describe(line, transient.events, transient.recorder.history)
        found, run = await self._operations.find_run(request.operator, request.id("run"))
        events = await self._events(run.id)
        failure = events[-1] if found.has_words and events and isinstance(events[-1], RunFailed) else None
        line = build_run_line(run, self._prices, failure)
        downgraded = events[0].downgraded if events and isinstance(events[0], RunStarted) else None
        line = msgspec.structs.replace(line, downgraded=downgraded)
        return self._describe(line, events, SpanHistory(events))

    def _describe(self, line: RunLine, events: Iterable[Event], history: SpanHistory) -> Response:
        totals = build_totals(history, self._prices)
        known = msgspec.structs.asdict(add_totals(line, totals))
        return json_response(RunDetails(**known, spans=build_span_lines(events), totals=totals))

    async def entries(self, request: OperatorRequest) -> Response:
        _, run = await self._operations.find_run(request.operator, request.id("run"), is_opened=True)
        query = request.http.query_params
        limit = min(read_number(query, "limit", MAX_ENTRIES), MAX_ENTRIES)
        entries = join_entries(await read_entries(self._runtime, run.id, query.get("after")), limit)
        has_details = includes_agent(request.rights.read, run.agent)
        shown = ({"id": entry.id, "event": write_entry(entry.event, has_details=has_details)} for entry in entries)
        lines = (part for one in shown for part in (*encode_pieces(one), b"\n"))
        return PiecesResponse(join_pieces(lines), media_type=NDJSON)

    async def stop(self, request: OperatorRequest) -> Response:
        return json_response(StoppedRun(await self._operations.stop_run(request.operator, request.id("run"))))

    async def file(self, request: OperatorRequest) -> Response:
        """`?as=page` shows an HTML file in a sandbox."""
        name, is_page = request.id("file"), request.http.query_params.get("as") == "page"
        try:
            return await files.make_file_response(self._runtime, name, request.principal, is_page=is_page)
        except files.FileNotFound as missing:
            try:
                owner = await self._operations.find_file_owner(request.operator, files.id_of(name))
            except OperatorNotFound:
                raise missing from None
            response = await files.make_file_response(self._runtime, name, owner, is_page=is_page)
            self._operations.record_download(request.operator, files.id_of(name), owner)
            return response

    async def _events(self, run_id: str) -> Sequence[Event]:
        """Empty if the log has expired."""
        return [entry.event for entry in await read_or_nothing(self._runtime, run_id)]


def list_questions(agent: Agent, principal: Principal, language: str | None) -> Sequence[str]:
    """The first questions of all plugins come before the second ones."""
    if not isinstance(agent, ListsPlugins):
        return ()
    of_plugins = [plugin.questions for plugin in agent.list_plugins(principal, language)]
    found = [question for row in zip_longest(*of_plugins) for question in row if question is not None]
    return list(dict.fromkeys(found))[:MAX_QUESTIONS]


def add_totals(line: RunLine, totals: TotalsLine) -> RunLine:
    """Of a run in progress, its record has no totals yet."""
    if line.model_calls is not None or not totals.spans:
        return line
    return msgspec.structs.replace(
        line,
        model_calls=totals.model_calls,
        tool_calls=totals.tool_calls,
        tokens=totals.tokens,
        cost=totals.cost,
    )


def find_question(messages: Sequence[Message], id: str) -> Message:
    """Raises `OperatorNotFound`."""
    for message in messages:
        if message.id == id and message.role == "user":
            return message
    raise OperatorNotFound("The thread has no such message of the user. Load it again: it may have been replaced.")


def replace_question(earlier: Message, question: Message) -> Message:
    """Without parts, the earlier message is asked again. Otherwise its attachments are kept."""
    if not question.parts:
        return earlier
    return Message("user", (*question.parts, *(part for part in earlier.parts if not isinstance(part, Text))))


def read_parts(wanted: NewRun) -> Iterator[Part]:
    if wanted.text:
        yield Text(wanted.text)
    for part in wanted.parts:
        yield build_media(media_kind(part.media_type), part.media_type, part.data, name=part.name)
