"""The adapter of Google's models: sends requests and streams responses."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Self
from urllib.parse import quote

import msgspec

from rightseat.core.model import Chunk, NoteChunk, Prompt
from rightseat.egress.credentials import google_cloud
from rightseat.egress.deadlines import Timeouts
from rightseat.egress.redaction import find_secrets
from rightseat.models.google.decoder import GeminiDecoder
from rightseat.models.google.encoder import write_request
from rightseat.models.google.options import Options
from rightseat.models.upstream import Upstream

_encode = msgspec.json.Encoder().encode


class Google:
    """`Google("gemini-3.8-flash", api_key=…)` in Python; with `Options` from the configuration."""

    def __init__(self, options: Options | str, **more: Any) -> None:
        self.options = options if isinstance(options, Options) else Options(model=options, **more)
        options = self.options
        key = options.api_key.get_secret_value() if options.api_key else ""
        headers = {name.lower(): value.get_secret_value() for name, value in options.headers.items()}
        needs_token = options.platform == "vertex" and not key and "authorization" not in headers
        credentials = google_cloud.credentials(options.credentials, network=options) if needs_token else None
        auth = {"x-goog-api-key": key} if key else {}
        timeouts = Timeouts(options.timeout, options.total_timeout)
        secrets = (key, *headers.values(), *find_secrets(options.extra))
        self._upstream = Upstream(
            options.address, auth | headers, secrets, timeouts, credentials, model=options.model, network=options
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._upstream.aclose()

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        request = write_request(self.options, prompt)
        return self._upstream.stream(
            write_path(self.options, request.model),
            partial(_encode, request.body),
            GeminiDecoder(request.model),
            first=[NoteChunk("warning", note) for note in request.notes],
        )


def write_path(options: Options, model: str) -> str:
    prefix = ""
    if options.platform == "vertex":
        prefix = f"/projects/{options.project}/locations/{options.region}/publishers/google"
    return f"{prefix}/models/{quote(model, safe='@')}:streamGenerateContent?alt=sse"
