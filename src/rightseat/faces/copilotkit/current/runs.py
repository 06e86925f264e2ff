"""The run operations of CopilotKit clients since 1.50: run, connect, stop, suggest."""

from collections.abc import AsyncIterator, Callable, Mapping
from importlib.metadata import version
from typing import Any, Protocol

import msgspec
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.agent import AgentGroup, ListsPlugins
from rightseat.core.ask import Answer, Ask, NamedTool, Principal, WhenBusy
from rightseat.core.errors import AgentNotFound, LimitExceeded
from rightseat.core.events import RunFailed, RunStarted
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Thread
from rightseat.faces._shared import files
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.pieces_response import PiecesResponse, begin_pieces
from rightseat.faces._shared.queued_start import stream_started
from rightseat.faces._shared.responses import encode, json_response
from rightseat.faces._shared.run_response import RunResponse
from rightseat.faces.copilotkit.agents import list_members
from rightseat.faces.copilotkit.current.routing import OperationRequest, Routes
from rightseat.faces.copilotkit.current.stored_events import (
    ShownMessages,
    StoredEvents,
    UnknownEventId,
    parse_last_event_id,
    split_runs,
)
from rightseat.turns import take_turn
from rightseat.wire.agui import AguiEncoder, RunInput, Version, read_ask, read_input

EVENTS = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}
STOPPED = {"type": "RUN_ERROR", "message": "The run was stopped.", "code": "STOPPED"}
CAPABILITIES = {
    "tools": {"supported": True, "clientProvided": True},
    "transport": {"streaming": True},
    "humanInTheLoop": {"interrupts": True},
}
SUGGEST_TOOL = "copilotkitSuggest"
"""CopilotKit's chat makes the agent call this tool with its suggestions."""
MAX_SUGGESTION_RUNS = 1000
"""Number of recent suggestion runs that can be stopped."""


class SupportsLive(Protocol):
    """Lists and chats that follow changes, see `copilotkit.live`."""

    def describe(self, request: OperationRequest) -> Mapping[str, Any]:
        """What `/info` says about them."""
        ...

    async def open_token(self, request: OperationRequest) -> str:
        """A token with which the page may open a WebSocket."""
        ...

    def write_code(self, principal: Principal) -> str:
        """What the names of the user's channels end with."""
        ...


def describe_nothing(request: OperationRequest) -> Mapping[str, Any]:
    return {}


class RunOperations:
    """Clients may use `agents`. The name `default` means the default agent if no agent has that name.

    Files are served below `path`, the path of the face; None if the face serves no paths below its base path.
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
        auth: RouteAuth,
        path: str | None,
    ) -> None:
        self._runtime = runtime
        self._path = path
        self._auth = auth
        self._agents = agents
        self._default = default
        self._when_busy = when_busy
        self._transcribes = transcribes
        self._headers = headers
        self._keep_alive = keep_alive
        self.describe_memories: Callable[[OperationRequest], Mapping[str, Any]] = describe_nothing
        """What `/info` says about memories."""
        self.live: SupportsLive | None = None
        self._suggestion_runs: dict[tuple[str, str], str] = {}  # (user, thread) → run id; not stored

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
        """The clients' agent names → the configured names."""
        known = self._runtime.agents
        named = known if self._agents is None else self._agents
        offered = {name: name for name in (self._default, *named) if name is not None and name in known}
        if self._default is not None and self._default in known:
            offered.setdefault("default", self._default)
        return offered

    async def _describe_agents(self, request: OperationRequest) -> dict[str, Any]:
        """List the members of agent groups instead of the groups; unreachable groups are omitted."""
        may, known = self._auth.may_use, self._runtime.agents
        mine = {name: own for name, own in self.agents.items() if may(request.principal, own)}
        parts = [own for own in mine.values() if isinstance(known[own], AgentGroup)]
        plain = {name: known[own].description for name, own in mine.items() if own not in parts}
        ask = Ask(messages=(), principal=request.principal, headers=self.headers(request))
        found, _ = await list_members(self._runtime, parts, ask)
        listed = {name: description for name, (_, description) in found.items()} | plain
        return {name: self._describe_agent(name, description) for name, description in listed.items()}

    async def info(self, request: OperationRequest) -> Response:
        threads = {"list": True, "inspect": True, "mutations": True}
        threads["realtimeMetadata"] = self.live is not None
        single = request.http.method == "POST"
        body: dict[str, Any] = {
            "version": version("rightseat"),
            "agents": await self._describe_agents(request),
            "audioFileTranscriptionEnabled": self._transcribes,
            "mode": "sse",
            "threadEndpoints": dict.fromkeys(threads, False) if single else threads,
            "suggestions": True,
            "a2uiEnabled": False,
            "openGenerativeUIEnabled": False,
            "telemetryDisabled": True,
            **self.describe_memories(request),
            **(self.live.describe(request) if self.live is not None else {}),
        }
        if single:
            body["singleRoute"] = {"resourceOperations": True, "threadEndpoints": threads}
        return json_response(body)

    def _describe_agent(self, name: str, description: str) -> dict[str, Any]:
        return {"name": name, "description": description, "className": "Agent", "capabilities": CAPABILITIES}

    async def run(self, request: OperationRequest) -> Response:
        given = read_input(request.take_body())
        ask = await self._ask(request, given)
        if ask.parameters.tool_choice == NamedTool(SUGGEST_TOOL):  # suggestions of pages with `useSingleEndpoint`
            return await self._suggest(request, given, ask)
        return await self._start(request, given, ask)

    async def suggest(self, request: OperationRequest) -> Response:
        given = read_input(request.take_body())
        return await self._suggest(request, given, await self._ask(request, given))

    async def _suggest(self, request: OperationRequest, given: RunInput, ask: Ask) -> Response:
        """Start a transient run without answers, cancelled when its client disconnects or stops the thread."""
        self._suggestion_runs[request.principal.id, ask.thread_id] = ask.run_id
        while len(self._suggestion_runs) > MAX_SUGGESTION_RUNS:
            del self._suggestion_runs[next(iter(self._suggestion_runs))]
        alone = msgspec.structs.replace(
            ask, transient=True, answers=(), supports_suggestions=False, purpose="suggestions"
        )
        return await self._start(request, given, alone)

    async def _start(self, request: OperationRequest, given: RunInput, ask: Ask) -> Response:
        """A request over a limit becomes a failed run, because clients do not show HTTP errors. It is not stored."""
        start, http = self._runtime.start(ask), request.http
        try:
            return await stream_started(self._runtime, http, ask, start, lambda ask: self._stream(request, ask, given))
        except LimitExceeded as error:
            writer = self.writer(request, given.version, ask.thread_id, ask.client_run_id or ask.run_id)
            failed = RunStarted(ask.run_id, ask.thread_id, ask.agent), RunFailed(error.code, error.message)
            frames = [b"data: %b\n\n" % encode(one) for event in failed for one in writer.write(event)]
            return Response(b"".join(frames), headers={**EVENTS, "retry-after": str(error.retry_after)})

    async def connect(self, request: OperationRequest) -> Response:
        """Sends what the page does not show of the thread, in few events, then its active run, if any, to its end."""
        await self._agent(request)
        given = read_input(request.take_body())
        thread = await self._runtime.outline(given.threadId, request.principal)
        ended, active = split_runs(thread.runs if thread else ())
        events = self._events(request, given.version, given.threadId)
        body = await begin_pieces(events.write_compact(ended, ShownMessages(given.messages)))
        if active is None:
            return PiecesResponse(body, headers=EVENTS)
        return self._follow(active.id, events.writer(active), first=body)

    async def resume(
        self, request: OperationRequest, thread: Thread, version: Version, last_seen: str | None
    ) -> Response:
        """Sends the events of the thread after one of them, then its active run to its end.

        `last_seen` is the id of that event's entry. Without it, all events are sent.
        """
        seen = parse_last_event_id(last_seen) if last_seen else None
        runs = [run for run in thread.runs if seen is None or run.epoch >= seen.epoch]
        if seen and not runs:
            raise UnknownEventId(last_seen)
        ended, active = split_runs(runs)
        events = self._events(request, version, thread.id)
        body = await begin_pieces(events.write_missed(thread, ended, seen, request.principal))
        if active is None:
            return PiecesResponse(body, headers=EVENTS)
        writer = events.writer(active)
        after = await events.skip_seen(writer, active, seen) if seen and not ended else None
        return self._follow(active.id, writer, first=body, after=after)

    def _events(self, request: OperationRequest, version: Version, thread_id: str) -> StoredEvents:
        return StoredEvents(
            self._runtime, lambda run: self.writer(request, version, thread_id, run.client_run_id or run.id)
        )

    async def file(self, request: OperationRequest) -> Response:
        return await files.make_file_response(self._runtime, request.ids["file"], request.principal)

    async def plugins(self, request: OperationRequest) -> Response:
        """List the plugins of the agents that the user may use, with names and descriptions, for a front end.

        `language` in the query is a language tag; `agents` lists the agents with the plugin by the clients' names.
        """
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for name, own in self.agents.items():
            agent = self._runtime.agents[own]
            if not isinstance(agent, ListsPlugins) or not self._auth.may_use(request.principal, own):
                continue
            for plugin in agent.list_plugins(request.principal, request.query.get("language")):
                listed = found.setdefault((plugin.id, plugin.version), {**msgspec.to_builtins(plugin), "agents": []})
                listed["agents"].append(name)
        return json_response({"plugins": list(found.values())})

    async def stop(self, request: OperationRequest) -> Response:
        await self._agent(request)
        thread_id = request.ids["threadId"]
        run_id = request.read(Stop).runId if request.body.strip() else None
        suggesting = self._suggestion_runs.pop((request.principal.id, thread_id), None)
        is_stopped = suggesting is not None and await self._runtime.cancel(suggesting)
        if await self._runtime.stop(thread_id, request.principal, run_id) or is_stopped:
            return json_response({"stopped": True, "interrupt": STOPPED})
        return json_response({"stopped": False, "message": f"No active run for thread {thread_id!r}."})

    async def _agent(self, request: OperationRequest) -> str:
        offered, name = self.agents, request.ids["agentId"]
        if name in offered:
            self._auth.check_agent(request.principal, offered[name])
            return offered[name]
        listed = [own for own in offered.values() if self._auth.may_use(request.principal, own)]
        ask = Ask(messages=(), principal=request.principal, headers=self.headers(request))
        found, problems = await list_members(self._runtime, listed, ask)
        if name in found:
            return f"{found[name][0]}/{name}"
        if problems:
            raise problems[0]
        known = [one for one, own in offered.items() if self._auth.may_use(request.principal, own)]
        raise AgentNotFound(name, (*known, *found))

    async def _ask(self, request: OperationRequest, given: RunInput) -> Ask:
        agent = await self._agent(request)
        await take_turn()
        ask = read_ask(given, agent, request.principal)
        ask = msgspec.structs.replace(ask, answers=ask.answers or await self._legacy_answers(ask))
        return msgspec.structs.replace(
            ask,
            headers=self.headers(request),
            face="copilotkit",
            when_busy=self._when_busy,
            supports_suggestions=True,
        )

    async def _legacy_answers(self, ask: Ask) -> tuple[Answer, ...]:
        """Decode LangGraph's command, with which clients may answer an interrupt that was sent as LangGraph's event."""
        command = ask.properties.get("command")
        if not isinstance(command, dict) or "resume" not in command:
            return ()
        pending = await self._runtime.pending(ask.principal, ask.thread_id)
        legacy = [one.interrupt.id for one in pending if one.interrupt.reason == "on_interrupt"]
        return (Answer(legacy[0], "resolved", command["resume"]),) if len(legacy) == 1 else ()

    def headers(self, request: OperationRequest) -> dict[str, str]:
        """Return the request headers to forward."""
        return {name: value for name in self._headers if (value := request.http.headers.get(name)) is not None}

    def writer(self, request: OperationRequest, version: Version, thread_id: str, run_id: str) -> AguiEncoder:
        base = None if self._path is None else files_url(request.http, self._path)
        return AguiEncoder(version, thread_id, run_id, ArtifactLinker(base).expand)

    def _stream(self, request: OperationRequest, ask: Ask, given: RunInput) -> RunResponse:
        writer = self.writer(request, given.version, ask.thread_id, ask.client_run_id or ask.run_id)
        return self._follow(ask.run_id, writer, cancel_on_disconnect=ask.transient)

    def _follow(
        self,
        run_id: str,
        writer: AguiEncoder,
        *,
        first: bytes | AsyncIterator[bytes] = b"",
        after: str | None = None,
        cancel_on_disconnect: bool = False,
    ) -> RunResponse:
        return RunResponse(
            self._runtime,
            run_id,
            writer.feed,
            headers=EVENTS,
            first=first,
            after=after,
            cancel_on_disconnect=cancel_on_disconnect,
            keep_alive=self._keep_alive,
        )


class Stop(msgspec.Struct):
    runId: str
