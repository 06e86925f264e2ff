"""Chat completions: a request → a run → its answer, whole or as it grows.

Nobody can come back to such a run: it ends when its client goes away, and nothing of it is kept.
"""

from collections.abc import Sequence
from contextlib import aclosing

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal
from rightseat.core.log import Entry
from rightseat.core.runtime import Runtime
from rightseat.faces.answers import answer
from rightseat.faces.openai.naming import Names
from rightseat.faces.openai.reading import Request, decode, read_ask
from rightseat.faces.openai.warning import header
from rightseat.faces.openai.writing import Chunks, Whole
from rightseat.faces.showing import Showing, base_of
from rightseat.faces.streaming import RunResponse, Watch, broken_off


class Chat:
    """`headers` are those of a request that are passed on. `path` is the face's own, below which files are fetched."""

    def __init__(self, runtime: Runtime, names: Names, *, headers: Sequence[str], keep_alive: float, path: str) -> None:
        self._runtime = runtime
        self._names = names
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path

    async def complete(self, body: bytes, http: HttpRequest, principal: Principal) -> Response:
        """Raises a `RightseatError` for what cannot be asked."""
        request = decode(body)
        name = request.model = self._names.resolve(request.body.model, principal, request.warnings)
        request.fingerprint = self._names.fingerprint(name)
        headers = {one: value for one in self._headers if (value := http.headers.get(one)) is not None}
        ask = read_ask(request, principal, headers, is_model=not self._names.is_agent(name))
        ask = await self._runtime.start(ask)
        showing = Showing(base_of(http, self._path))
        if request.body.stream:
            return self._stream(request, ask, showing)
        return await self._whole(request, ask, http, showing)

    def _stream(self, request: Request, ask: Ask, showing: Showing) -> Response:
        chunks = Chunks(request, ask)
        return RunResponse(
            self._runtime,
            ask.run_id,
            lambda entries: chunks.feed(showing.entries(entries)),
            headers=chunks.headers,
            refusal=chunks.refusal,
            keep_alive=self._keep_alive,
        )

    async def _whole(self, request: Request, ask: Ask, http: HttpRequest, showing: Showing) -> Response:
        runtime, whole = self._runtime, Whole(request, ask)
        async with Watch(runtime, ask.run_id, http.receive), aclosing(runtime.follow(ask.run_id)) as batches:
            async for entries in batches:
                whole.feed(showing.entries(entries))
        if not whole.is_over:
            whole.feed([Entry(0, 0, broken_off(ask.run_id))])
        if whole.failure:
            return whole.failure.response(request.warnings)
        body = whole.body()
        return answer(body, headers=header(request.warnings))
