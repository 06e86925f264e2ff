"""Chat completions: runs an agent or model, and returns one body or a stream.

The run is transient: it is cancelled when its client disconnects, and nothing is stored.
"""

from collections.abc import Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal
from rightseat.core.log import Entry
from rightseat.core.runtime import Runtime
from rightseat.core.turns import take_turn
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.queued_start import start_connected, stream_started
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import DisconnectWatcher, RunResponse, incomplete_run_failure
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces.openai.decoder import ChatRequest, decode, read_ask
from rightseat.faces.openai.encoder import BodyEncoder, ChunkEncoder


class Chat:
    """`headers` are forwarded. `path` is that of the face, below which files are served."""

    def __init__(
        self, runtime: Runtime, names: ModelNames, *, headers: Sequence[str], keep_alive: float, path: str
    ) -> None:
        self._runtime = runtime
        self._names = names
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path

    async def complete(self, body: bytes, http: Request, principal: Principal) -> Response:
        """Raises a `RightseatError` for an invalid request."""
        request = decode(body)
        await take_turn()
        name = request.model = self._names.resolve(request.body.model, principal, request.warnings)
        request.fingerprint = self._names.fingerprint(name)
        headers = {one: value for one in self._headers if (value := http.headers.get(one)) is not None}
        ask = read_ask(request, principal, headers, is_model=not self._names.is_agent(name))
        linker = ArtifactLinker(files_url(http, self._path))
        runtime, start = self._runtime, self._runtime.start(ask)
        if request.body.stream:
            return await stream_started(runtime, http, ask, start, lambda ask: self._stream(request, ask, linker))
        return await self._respond(request, await start_connected(runtime, http, start), http, linker)

    def _stream(self, request: ChatRequest, ask: Ask, linker: ArtifactLinker) -> RunResponse:
        chunks = ChunkEncoder(request, ask)
        return RunResponse(
            self._runtime,
            ask.run_id,
            lambda entries: chunks.feed(linker.expand_entries(entries)),
            headers=chunks.headers,
            refusal=chunks.refusal,
            keep_alive=self._keep_alive,
        )

    async def _respond(self, request: ChatRequest, ask: Ask, http: Request, linker: ArtifactLinker) -> Response:
        runtime, encoder = self._runtime, BodyEncoder(request, ask)
        async with (
            DisconnectWatcher(runtime, ask.run_id, http.receive),
            aclosing(runtime.follow(ask.run_id)) as batches,
        ):
            async for entries in batches:
                encoder.feed(linker.expand_entries(entries))
        if not encoder.is_finished:
            encoder.feed([Entry(0, 0, incomplete_run_failure(ask.run_id))])
        if encoder.failure:
            return encoder.failure.response(request.warnings)
        body = encoder.body()
        return json_response(body, headers=warnings_header(request.warnings))
