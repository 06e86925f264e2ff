"""The embeddings endpoint."""

import struct
from base64 import b64encode
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.model import Embedder
from rightseat.core.runtime import Runtime
from rightseat.core.types import JSON_ERRORS
from rightseat.faces._shared.model_names import ModelNames, ModelNotFound
from rightseat.faces._shared.responses import json_response, repair_surrogates
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces.openai.decoder import explain_decode_error
from rightseat.faces.openai.errors import InvalidRequest

MAX_TEXTS = 2048  # per request, as at OpenAI


class EmbeddingsBody(msgspec.Struct):
    input: str | list[Any]
    model: str | None = None
    encoding_format: str | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    user: str | None = None


_decode = msgspec.json.Decoder(EmbeddingsBody).decode


class Embeddings:
    def __init__(self, runtime: Runtime, names: ModelNames) -> None:
        self._runtime = runtime
        self._names = names

    async def embed(self, body: bytes, http: Request, principal: Principal) -> Response:
        parsed, texts = read(body)
        warnings: list[str] = []
        name = self._names.resolve(parsed.model, principal, warnings)
        model: object = self._runtime.models.get(name)
        if not isinstance(model, Embedder):
            raise ModelNotFound(name, "does not support embeddings")
        async with self._runtime.admission.admit_request(principal, name, "embeddings"):
            await self._runtime.text_guard.check_input(texts, name, principal)
            made = await model.embed(texts, parsed.dimensions)
        return json_response(
            {
                "object": "list",
                "data": [
                    {"object": "embedding", "index": index, "embedding": write(vector, parsed.encoding_format)}
                    for index, vector in enumerate(made.vectors)
                ],
                "model": name,
                "usage": {"prompt_tokens": made.input_tokens, "total_tokens": made.input_tokens},
            },
            headers=warnings_header(warnings),
        )


def read(body: bytes) -> tuple[EmbeddingsBody, list[str]]:
    try:
        parsed = _decode(repair_surrogates(body))
    except JSON_ERRORS as error:
        raise explain_decode_error(error) from error
    if parsed.encoding_format not in (None, "float", "base64"):
        text = f"`encoding_format` is {parsed.encoding_format[:100]!r}; it must be 'float' or 'base64'."
        raise InvalidRequest(text, "encoding_format")
    texts = [parsed.input] if isinstance(parsed.input, str) else parsed.input
    if not all(isinstance(text, str) for text in texts):
        raise InvalidRequest("`input` must be a text or a list of texts; token arrays are not supported.", "input")
    if not texts or len(texts) > MAX_TEXTS or "" in texts:
        raise InvalidRequest(f"`input` must be 1 to {MAX_TEXTS} texts, none of them empty.", "input")
    return parsed, texts


def write(vector: list[float], form: str | None) -> list[float] | str:
    """base64 of little-endian 32-bit floats, the default of OpenAI's own client."""
    if form != "base64":
        return vector
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
