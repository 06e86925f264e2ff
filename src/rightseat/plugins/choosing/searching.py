"""Which plugins and flows may fit a question: keywords, and vectors where the model makes them."""

import logging
import math
from collections.abc import Sequence

from rightseat.core.errors import ModelError
from rightseat.core.model import Embedder
from rightseat.plugins.choosing import words

logger = logging.getLogger(__name__)

FUSION = 60  # how much the first places count more than those behind, as is usual for joining two rankings
KEPT = 5000  # vectors of descriptions; of more, all are made anew


class Search:
    """Keeps the vectors of descriptions, which seldom change."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._vectors: dict[str, list[float]] = {}

    async def rank(self, question: str, texts: Sequence[str]) -> tuple[list[float], str]:
        """A score for each of the texts, and a word on how they came about."""
        keywords = words.scores(question, texts)
        if self._embedder is None:
            return keywords, "keywords"
        try:
            likeness = await self._alike(self._embedder, question, texts)
        except ModelError as error:
            logger.warning("The model's vectors cannot be had, so keywords alone choose flows: %s", error.message)
            return keywords, f"keywords alone: {error.message}"
        return fused(keywords, likeness), "keywords and vectors"

    async def _alike(self, embedder: Embedder, question: str, texts: Sequence[str]) -> list[float]:
        if len(self._vectors) > KEPT:
            self._vectors.clear()
        unknown = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        made = (await embedder.embed([question, *unknown])).vectors
        self._vectors |= zip(unknown, made[1:], strict=True)
        return [cosine(made[0], self._vectors[text]) for text in texts]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0


def fused(*rankings: Sequence[float]) -> list[float]:
    """One ranking of several, by the places and not by the scores, which cannot be compared."""
    total = [0.0] * len(rankings[0])
    for scores in rankings:
        places = sorted(range(len(scores)), key=lambda at: -scores[at])
        for place, at in enumerate(places):
            if scores[at] > 0:
                total[at] += 1 / (FUSION + place)
    return total


def best(scores: Sequence[float], most: int) -> list[int]:
    """The places of the best, in the order of their scores; ties in the order given."""
    return sorted(range(len(scores)), key=lambda at: -scores[at])[:most]
