"""Keyword search, for a few hundred short descriptions: BM25 over words, and over pairs of characters in Chinese,
Japanese and Korean, which write no spaces."""

import math
import re
from collections import Counter
from collections.abc import Sequence

WORDS = re.compile(r"[^\W_]+")
IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")

SATURATION, LENGTH = 1.2, 0.75


def scores(question: str, texts: Sequence[str]) -> list[float]:
    """How well each of the texts fits the question; 0 where they share nothing."""
    documents = [Counter(terms(text)) for text in texts]
    average = sum(sum(one.values()) for one in documents) / max(1, len(documents)) or 1.0
    wanted = set(terms(question))
    weights = {term: weight(sum(term in one for one in documents), len(documents)) for term in wanted}
    return [score(one, weights, average) for one in documents]


def terms(text: str) -> list[str]:
    found: list[str] = []
    for word in WORDS.findall(text.casefold()):
        found += [part for part in IDEOGRAPHS.sub(" ", word).split() if part]
        for run in IDEOGRAPHS.findall(word):
            found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return found


def weight(having: int, all_of_them: int) -> float:
    return math.log(1 + (all_of_them - having + 0.5) / (having + 0.5))


def score(document: Counter[str], weights: dict[str, float], average: float) -> float:
    size = 1 - LENGTH + LENGTH * sum(document.values()) / average
    return sum(
        weight * document[term] * (SATURATION + 1) / (document[term] + SATURATION * size)
        for term, weight in weights.items()
        if term in document
    )
