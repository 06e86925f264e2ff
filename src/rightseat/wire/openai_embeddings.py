"""Decodes the response of an endpoint for embeddings with OpenAI's API."""

import msgspec

from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import Vectors
from rightseat.core.types import JSON_ERRORS


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0


class _EmbeddingResponse(msgspec.Struct):
    data: list[_Embedding]
    usage: _Usage = _Usage()


def read_vectors(body: bytes, count: int) -> Vectors:
    try:
        response = msgspec.json.decode(body, type=_EmbeddingResponse)
    except JSON_ERRORS as error:
        raise ModelUnreachable(f"The model provider returned something other than vectors: {error}") from error
    vectors = {one.index: one.embedding for one in response.data}
    if sorted(vectors) != list(range(count)):
        raise ModelUnreachable(f"The model provider returned {len(vectors)} vectors for {count} texts.")
    return Vectors([vectors[index] for index in range(count)], response.usage.prompt_tokens)
