"""Keyword search over short texts: BM25 on words, and on character pairs in Chinese, Japanese and Korean."""

import math
import re
from collections import Counter
from collections.abc import Sequence

WORDS = re.compile(r"[^\W_]+")
IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")

SATURATION, LENGTH = 1.2, 0.75  # k1 and b of BM25, with their usual values


def score_texts(question: str, texts: Sequence[str]) -> list[float]:
    """One score per text; 0 if it shares no term with the question."""
    documents = [Counter(split_terms(text)) for text in texts]
    average = sum(sum(one.values()) for one in documents) / max(1, len(documents)) or 1.0
    question_terms = set(split_terms(question))
    weights = {
        term: inverse_frequency(sum(term in one for one in documents), len(documents)) for term in question_terms
    }
    return [score_document(one, weights, average) for one in documents]


def split_terms(text: str) -> list[str]:
    terms: list[str] = []
    for word in WORDS.findall(text.casefold()):
        terms += [part for part in IDEOGRAPHS.sub(" ", word).split() if part]
        for run in IDEOGRAPHS.findall(word):
            terms += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return terms


def inverse_frequency(matches: int, documents: int) -> float:
    return math.log(1 + (documents - matches + 0.5) / (matches + 0.5))


def score_document(document: Counter[str], weights: dict[str, float], average: float) -> float:
    size = 1 - LENGTH + LENGTH * sum(document.values()) / average
    return sum(
        weight * document[term] * (SATURATION + 1) / (document[term] + SATURATION * size)
        for term, weight in weights.items()
        if term in document
    )
