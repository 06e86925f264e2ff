"""Ranks plugins and flows for a question by keywords, and by embeddings if the model has them."""

import logging
import math
from collections.abc import Sequence

from rightseat.core.errors import ModelError
from rightseat.core.model import Embedder
from rightseat.plugins.selection import bm25

logger = logging.getLogger(__name__)

RANK_FUSION_K = 60  # the usual constant of reciprocal rank fusion
MAX_CACHED_VECTORS = 5000  # above, the cache is cleared


class FlowSearch:
    """Caches the embeddings of descriptions, which seldom change."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._vectors: dict[str, list[float]] = {}

    async def rank(self, question: str, texts: Sequence[str]) -> tuple[list[float], str]:
        """Return (one score per text, a note on the method)."""
        keywords = bm25.score_texts(question, texts)
        if self._embedder is None:
            return keywords, "keywords"
        try:
            similarities = await self._compare(self._embedder, question, texts)
        except ModelError as error:
            logger.warning("The model returned no embeddings, so flows are ranked by keywords only: %s", error.message)
            return keywords, f"keywords only: {error.message}"
        return fuse_rankings(keywords, similarities), "keywords and vectors"

    async def _compare(self, embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
        if len(self._vectors) > MAX_CACHED_VECTORS:
            self._vectors.clear()
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        vectors = (await embedder.embed([question, *missing])).vectors
        self._vectors |= zip(missing, vectors[1:], strict=True)
        return [cosine(vectors[0], self._vectors[text]) for text in texts]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0


def fuse_rankings(*rankings: Sequence[float]) -> list[float]:
    """Combine rankings by rank, because their scores are not comparable."""
    total = [0.0] * len(rankings[0])
    for scores in rankings:
        ranked = sorted(range(len(scores)), key=lambda at: -scores[at])
        for rank, at in enumerate(ranked):
            if scores[at] > 0:
                total[at] += 1 / (RANK_FUSION_K + rank)
    return total


def top_indexes(scores: Sequence[float], count: int) -> list[int]:
    """The indexes of the highest scores, highest first; ties keep their order."""
    return sorted(range(len(scores)), key=lambda at: -scores[at])[:count]
