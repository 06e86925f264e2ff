"""Meters model calls without a stream, in the context of a run or of a request without a run."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from rightseat.core.limits.estimate import ESTIMATED_BYTES_PER_TOKEN, RESERVED_BYTES_PER_TOKEN
from rightseat.core.limits.meter import METER
from rightseat.core.limits.model_charge import key_of, provider_name, text_bytes
from rightseat.core.limits.single_call import SingleCall, TokenCounts
from rightseat.core.model import Embedder, Vectors


@asynccontextmanager
async def reserve_call(
    model: str, provider_model: str, reserved: TokenCounts, estimated: TokenCounts, purpose: str
) -> AsyncIterator[SingleCall]:
    """Count the call that is made in this block. Raises a `LimitExceeded` if it does not fit."""
    call, meter = SingleCall(model, provider_model, reserved, estimated), METER.get()
    if meter is None:
        yield call
        return
    async with meter.reserve(call, purpose):
        yield call


async def embed_texts(model: Embedder, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
    """Like `embed` of the model, and counted."""
    size = sum(map(text_bytes, texts))
    reserved = TokenCounts(-(-size // RESERVED_BYTES_PER_TOKEN))
    estimated = TokenCounts(-(-size // ESTIMATED_BYTES_PER_TOKEN))
    async with reserve_call(key_of(model), provider_name(model), reserved, estimated, "embeddings") as call:
        made = await model.embed(texts, dimensions)
        call.reported = TokenCounts(made.input_tokens) if made.input_tokens else None
    return made
