"""Vectors, from the models that make them."""

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
from rightseat.core.values import JSON_ERRORS
from rightseat.faces.answers import answer, mended
from rightseat.faces.openai.failures import BadRequest, ModelNotFound
from rightseat.faces.openai.naming import Names
from rightseat.faces.openai.reading import unreadable
from rightseat.faces.openai.warning import header

MOST = 2048  # texts in one request, as at OpenAI


class Body(msgspec.Struct):
    input: str | list[Any]
    model: str | None = None
    encoding_format: str | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    user: str | None = None


_decode = msgspec.json.Decoder(Body).decode


class Embeddings:
    def __init__(self, runtime: Runtime, names: Names) -> None:
        self._runtime = runtime
        self._names = names

    async def embed(self, body: bytes, http: Request, principal: Principal) -> Response:
        asked, texts = read(body)
        warnings: list[str] = []
        name = self._names.resolve(asked.model, principal, warnings)
        model: object = self._runtime.models.get(name)
        if not isinstance(model, Embedder):
            raise ModelNotFound(name, "makes no vectors")
        await self._runtime.texts.admit(texts, name, principal)
        made = await model.embed(texts, asked.dimensions)
        return answer(
            {
                "object": "list",
                "data": [
                    {"object": "embedding", "index": index, "embedding": write(vector, asked.encoding_format)}
                    for index, vector in enumerate(made.vectors)
                ],
                "model": name,
                "usage": {"prompt_tokens": made.input_tokens, "total_tokens": made.input_tokens},
            },
            headers=header(warnings),
        )


def read(body: bytes) -> tuple[Body, list[str]]:
    try:
        asked = _decode(mended(body))
    except JSON_ERRORS as error:
        raise unreadable(error) from error
    if asked.encoding_format not in (None, "float", "base64"):
        text = f"`encoding_format` is {asked.encoding_format[:100]!r}; it must be 'float' or 'base64'."
        raise BadRequest(text, "encoding_format")
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    if not all(isinstance(text, str) for text in texts):
        raise BadRequest("`input` must be a text or a list of texts; tokens are not taken.", "input")
    if not texts or len(texts) > MOST or "" in texts:
        raise BadRequest(f"`input` must be 1 to {MOST} texts, none of them empty.", "input")
    return asked, texts


def write(vector: list[float], form: str | None) -> list[float] | str:
    """base64 is of 32-bit floats, little-endian: what OpenAI's own client asks for unless it is told otherwise."""
    if form != "base64":
        return vector
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
