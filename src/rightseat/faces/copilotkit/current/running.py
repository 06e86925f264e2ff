"""Runs as today's clients ask for them: run, connect, stop, suggest."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec
from starlette.responses import Response

from rightseat.access.door import Door
from rightseat.core.agent import ListsPlugins, Roster
from rightseat.core.ask import Answer, Ask, Named, WhenBusy
from rightseat.core.compacting import compacted
from rightseat.core.errors import AgentNotFound, BadAsk, EntriesGone, LimitExceeded, RunNotFound
from rightseat.core.events import Event, MessagesReplaced, RunFailed, RunFinished, RunStarted
from rightseat.core.folding import Fold
from rightseat.core.log import Entry, Position, position, seq
from rightseat.core.runtime import Runtime
from rightseat.core.threads import RunRow, Thread
from rightseat.faces import files
from rightseat.faces.answers import answer, encode
from rightseat.faces.copilotkit.current.routing import Call, Routes
from rightseat.faces.copilotkit.finding import members
from rightseat.faces.showing import Showing, base_of
from rightseat.faces.streaming import RunResponse
from rightseat.wire.agui import RunInput, Version, Writer, read_ask, read_input

EVENTS = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}
GONE = 999_999_999  # the number of an entry behind all that a run can have said, for one whose log is gone
STOPPED = {"type": "RUN_ERROR", "message": "The run was stopped.", "code": "STOPPED"}
ABILITIES = {
    "tools": {"supported": True, "clientProvided": True},
    "transport": {"streaming": True},
    "humanInTheLoop": {"interrupts": True},
}
SUGGEST = "copilotkitSuggest"
"""The tool that CopilotKit's chat makes an agent call with suggestions."""
MAX_SUGGESTING = 1000
"""Runs for suggestions that can be stopped: the latest."""


class Running:
    """`agents` are those that a client may name; the name `default` stands for `default` where none is called so.

    `path` is the face's own, below which files are fetched; None if nothing is below it.
    """

    def __init__(
        self,
        runtime: Runtime,
        agents: tuple[str, ...] | None,
        default: str | None,
        *,
        when_busy: WhenBusy,
        transcribes: bool,
        headers: tuple[str, ...],
        keep_alive: float,
        door: Door,
        path: str | None,
    ) -> None:
        self._runtime = runtime
        self._path = path
        self._door = door
        self._agents = agents
        self._default = default
        self._when_busy = when_busy
        self._transcribes = transcribes
        self._headers = headers
        self._keep_alive = keep_alive
        self._suggesting: dict[tuple[str, str], str] = {}  # user and thread → the run, which no store has

    def routes(self) -> Routes:
        return {
            ("GET", "info"): self.info,
            ("POST", "agent/{agentId}/run"): self.run,
            ("POST", "agent/{agentId}/connect"): self.connect,
            ("POST", "agent/{agentId}/stop/{threadId}"): self.stop,
            ("POST", "agent/{agentId}/suggest"): self.suggest,
            ("POST", "agui/{agentId}"): self.run,  # for any other AG-UI client
            ("GET", "files/{file}"): self.file,
            ("GET", "plugins"): self.plugins,
        }

    @property
    def agents(self) -> dict[str, str]:
        """What clients call them → what they are called here."""
        known = self._runtime.agents
        named = known if self._agents is None else self._agents
        offered = {name: name for name in (self._default, *named) if name is not None and name in known}
        if self._default is not None and self._default in known:
            offered.setdefault("default", self._default)
        return offered

    async def _described_all(self, call: Call) -> dict[str, Any]:
        """A part that stands for several agents is listed as these. One that cannot be reached is left out."""
        may, known = self._door.may, self._runtime.agents
        mine = {name: own for name, own in self.agents.items() if may(call.principal, own)}
        parts = [own for own in mine.values() if isinstance(known[own], Roster)]
        plain = {name: known[own].description for name, own in mine.items() if own not in parts}
        ask = Ask(messages=(), principal=call.principal, headers=self.headers(call))
        found, _ = await members(self._runtime, parts, ask)
        listed = {name: description for name, (_, description) in found.items()} | plain
        return {name: self._described(name, description) for name, description in listed.items()}

    async def info(self, call: Call) -> Response:
        threads = {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False}
        single = call.request.method == "POST"
        body: dict[str, Any] = {
            "version": version("rightseat"),
            "agents": await self._described_all(call),
            "audioFileTranscriptionEnabled": self._transcribes,
            "mode": "sse",
            "threadEndpoints": dict.fromkeys(threads, False) if single else threads,
            "suggestions": True,
            "a2uiEnabled": False,
            "openGenerativeUIEnabled": False,
            "telemetryDisabled": True,
        }
        if single:
            body["singleRoute"] = {"resourceOperations": True, "threadEndpoints": threads}
        return answer(body)

    def _described(self, name: str, description: str) -> dict[str, Any]:
        return {"name": name, "description": description, "className": "Agent", "capabilities": ABILITIES}

    async def run(self, call: Call) -> Response:
        given = read_input(call.body)
        ask = await self._ask(call, given)
        if ask.parameters.tool_choice == Named(SUGGEST):  # as pages with `useSingleEndpoint` ask for suggestions
            return await self._suggest(call, given, ask)
        return await self._start(call, given, ask)

    async def suggest(self, call: Call) -> Response:
        given = read_input(call.body)
        return await self._suggest(call, given, await self._ask(call, given))

    async def _suggest(self, call: Call, given: RunInput, ask: Ask) -> Response:
        """A run of which nothing is kept, and that answers no question; it ends with its reader, or is stopped by the
        name of its thread on the server that has it."""
        self._suggesting[call.principal.id, ask.thread_id] = ask.run_id
        while len(self._suggesting) > MAX_SUGGESTING:
            del self._suggesting[next(iter(self._suggesting))]
        alone = msgspec.structs.replace(ask, transient=True, answers=(), supports_suggestions=False)
        return await self._start(call, given, alone)

    async def _start(self, call: Call, given: RunInput, ask: Ask) -> Response:
        """What a limit refuses is a run that failed, for the clients show nothing of an HTTP error. It is not kept."""
        try:
            return self._stream(call, await self._runtime.start(ask), given)
        except LimitExceeded as error:
            writer = self.writer(call, given.version, ask.thread_id, ask.client_run_id or ask.run_id)
            failed = RunStarted(ask.run_id, ask.thread_id, ask.agent), RunFailed(error.code, error.message)
            frames = [b"data: %b\n\n" % encode(one) for event in failed for one in writer.write(event)]
            return Response(b"".join(frames), headers={**EVENTS, "retry-after": str(error.retry_after)})

    async def connect(self, call: Call) -> Response:
        """What was said in the thread, in as few events as will do; then its live run, if it has one, to its end."""
        await self._agent(call)
        given = read_input(call.body)
        thread = await self._runtime.thread(given.threadId, call.principal)
        said = b""
        for run in thread.runs if thread else ():
            writer = self.writer(call, given.version, given.threadId, run.client_run_id or run.id)
            if run.outcome is None:
                return self._follow(run.id, writer, first=said)
            said += write_compact(writer, await self._entries(run))
        return Response(said, headers=EVENTS)

    async def resume(self, call: Call, thread: Thread, version: Version, last_seen: str | None) -> Response:
        """What was said in the thread after an event, as it was said, and then its live run to its end.

        `last_seen` is the id of that event's entry: any can be come back to. Without it, all is said.
        """
        seen = read_seen(last_seen) if last_seen else None
        said, runs = b"", [run for run in thread.runs if seen is None or run.epoch >= seen.epoch]
        if seen and not runs:
            raise NeverSeen(last_seen)
        for place, run in enumerate(runs):
            writer, after = self.writer(call, version, thread.id, run.client_run_id or run.id), None
            entries = await self._entries(run) if seen or run.outcome is not None else ()
            if seen and not place:
                after = str(seen)
                skip(writer, entries, seen)
            if run.outcome is None:
                return self._follow(run.id, writer, first=said, after=after)
            if entries:
                said += writer.feed(await self._entries(run, after) if after else entries)
            elif seq(after) < GONE if after else run.outcome != "cancelled":  # which may never have begun
                said = await self._gone(thread, run, runs[place + 1 :], writer, is_new=after is None)
        return Response(said, headers=EVENTS)

    async def _gone(
        self, thread: Thread, run: RunRow, later: Sequence[RunRow], writer: Writer, *, is_new: bool
    ) -> bytes:
        """Of a run whose log is gone there is what the thread has of it, in place of all that was said before, and how
        it ended."""
        unsaid: set[str] = set()
        for one in later:
            fold = Fold()
            for entry in await self._entries(one):
                fold.add(entry.event)
                unsaid |= {said.id for said in entry.event.said} if isinstance(entry.event, RunStarted) else set()
            unsaid |= {message.id for message in fold.messages()}
        kept = tuple(message for message in thread.messages if message.id not in unsaid)
        begun = [RunStarted(run.id, thread.id, run.agent)] if is_new else []
        events: list[Event] = [*begun, MessagesReplaced(kept, ()), last_of(run)]
        return b"".join(writer.feed([Entry(run.epoch, GONE * (event is events[-1]), event)]) for event in events)

    async def _entries(self, run: RunRow, after: str | None = None) -> Sequence[Entry]:
        try:
            return await self._runtime.read(run.id, after)
        except RunNotFound:
            return ()  # its log was kept for a shorter time than its thread, or was lost
        except EntriesGone as gone:
            return await self._entries(run, gone.resume)

    async def file(self, call: Call) -> Response:
        return await files.fetch(self._runtime, call.ids["file"], call.principal)

    async def plugins(self, call: Call) -> Response:
        """Names and descriptions of the plugins that the agents have and this user may use, for a front end to show.

        `language` in the query is a language tag; `agents` are those that have the plugin, by the clients' names.
        """
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for name, own in self.agents.items():
            agent = self._runtime.agents[own]
            if not isinstance(agent, ListsPlugins) or not self._door.may(call.principal, own):
                continue
            for plugin in agent.list_plugins(call.principal, call.query.get("language")):
                listed = found.setdefault((plugin.id, plugin.version), {**msgspec.to_builtins(plugin), "agents": []})
                listed["agents"].append(name)
        return answer({"plugins": list(found.values())})

    async def stop(self, call: Call) -> Response:
        await self._agent(call)
        thread_id = call.ids["threadId"]
        run_id = call.read(Stop).runId if call.body.strip() else None
        suggesting = self._suggesting.pop((call.principal.id, thread_id), None)
        is_stopped = suggesting is not None and await self._runtime.cancel(suggesting)
        if await self._runtime.stop(thread_id, call.principal, run_id) or is_stopped:
            return answer({"stopped": True, "interrupt": STOPPED})
        return answer({"stopped": False, "message": f"No active run for thread {thread_id!r}."})

    async def _agent(self, call: Call) -> str:
        offered, name = self.agents, call.ids["agentId"]
        if name in offered:
            self._door.check(call.principal, offered[name])
            return offered[name]
        listed = [own for own in offered.values() if self._door.may(call.principal, own)]
        ask = Ask(messages=(), principal=call.principal, headers=self.headers(call))
        found, problems = await members(self._runtime, listed, ask)
        if name in found:
            return f"{found[name][0]}/{name}"
        if problems:
            raise problems[0]
        known = [one for one, own in offered.items() if self._door.may(call.principal, own)]
        raise AgentNotFound(name, (*known, *found))

    async def _ask(self, call: Call, given: RunInput) -> Ask:
        ask = read_ask(given, await self._agent(call), call.principal)
        ask = msgspec.structs.replace(ask, answers=ask.answers or await self._legacy_answers(ask))
        return msgspec.structs.replace(
            ask, headers=self.headers(call), when_busy=self._when_busy, supports_suggestions=True
        )

    async def _legacy_answers(self, ask: Ask) -> tuple[Answer, ...]:
        """To a question that came as LangGraph's own event, a client may send the answer as LangGraph's own command."""
        command = ask.properties.get("command")
        if not isinstance(command, dict) or "resume" not in command:
            return ()
        pending = await self._runtime.pending(ask.principal, ask.thread_id)
        legacy = [one.interrupt.id for one in pending if one.interrupt.reason == "on_interrupt"]
        return (Answer(legacy[0], "resolved", command["resume"]),) if len(legacy) == 1 else ()

    def headers(self, call: Call) -> dict[str, str]:
        """Those of the request that are passed on."""
        return {name: value for name in self._headers if (value := call.request.headers.get(name)) is not None}

    def writer(self, call: Call, version: Version, thread_id: str, run_id: str) -> Writer:
        base = None if self._path is None else base_of(call.request, self._path)
        return Writer(version, thread_id, run_id, Showing(base).show)

    def _stream(self, call: Call, ask: Ask, given: RunInput) -> Response:
        writer = self.writer(call, given.version, ask.thread_id, ask.client_run_id or ask.run_id)
        return self._follow(ask.run_id, writer, is_for_its_reader=ask.transient)

    def _follow(
        self,
        run_id: str,
        writer: Writer,
        *,
        first: bytes = b"",
        after: str | None = None,
        is_for_its_reader: bool = False,
    ) -> Response:
        return RunResponse(
            self._runtime,
            run_id,
            writer.feed,
            headers=EVENTS,
            first=first,
            after=after,
            is_for_its_reader=is_for_its_reader,
            keep_alive=self._keep_alive,
        )


class NeverSeen(BadAsk):
    def __init__(self, last_seen: object) -> None:
        super().__init__(f"Last-Event-ID {str(last_seen)[:100]!r} is none of this thread's.")


def skip(writer: Writer, entries: Sequence[Entry], seen: Position) -> None:
    """The writer takes note of what the client has seen. A log that was lost has not all of it."""
    writer.begun()
    is_whole = bool(entries) and isinstance(entries[0].event, RunStarted) and entries[0].seq == 1
    if is_whole and (seen.epoch not in {entry.epoch for entry in entries} or entries[-1].seq < seen.seq):
        raise NeverSeen(seen)
    writer.skip(entry for entry in entries if entry.seq <= seen.seq)


def last_of(run: RunRow) -> RunFinished | RunFailed:
    if run.outcome == "failed":
        return RunFailed("failed", "The run failed.")
    return RunFinished("cancelled" if run.outcome == "cancelled" else "done")


def read_seen(last_seen: str) -> Position:
    try:
        seen = position(last_seen)
    except BadAsk:
        raise NeverSeen(last_seen) from None
    if not seen.epoch or not seen.seq:
        raise NeverSeen(last_seen)
    return seen


def write_compact(writer: Writer, entries: Sequence[Entry]) -> bytes:
    """A run that is over, in few frames. Only the last has an id: nobody can come back into the middle."""
    if not entries:
        return b""
    *events, last = compacted([entry.event for entry in entries])
    frames = [b"data: %b\n\n" % encode(one) for event in events for one in writer.write(event)]
    return b"".join((*frames, writer.feed([Entry(entries[-1].epoch, entries[-1].seq, last)])))


class Stop(msgspec.Struct):
    runId: str
