"""Texts as guards compare them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.guards.normalization import INVISIBLE, Normalizer, normalize


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Ｔｏｐ 𝐬𝐞𝐜𝐫𝐞𝐭 ⓧ ﬁ ²", "Top secret x fi 2"),
        ("naïve cafe\u0301 t\u20ddo\u0336p", "naive cafe top"),
        ("a \t\u00a0\u3000\n b", "a b"),
        ("a\x00\x1b\u200bb", f"a{INVISIBLE}b"),
        ("a\u2800b\u3164c", f"a{INVISIBLE}b{INVISIBLE}c"),
        ("a \u200b b", "a b"),
        ("a\u200b b", f"a{INVISIBLE} b"),
        ("٤１४", "414"),
        ("t\u0e48o\u093fp", "top"),
        ("कुल น้ำ", "कुल น้ํา"),
        ("\ud800", INVISIBLE),
    ],
)
def test_what_looks_the_same_is_the_same(text: str, plain: str) -> None:
    assert normalize(text) == plain


ANY = st.text(st.characters(), max_size=20) | st.text("a \n\u200b\u0323\u0e48\u093f\u0939é가", max_size=20)


@given(st.lists(ANY, max_size=6))
def test_pieces_normalised_one_by_one_are_the_whole_normalised(pieces: list[str]) -> None:
    normalizer = Normalizer()

    results = [normalizer.feed(piece) for piece in pieces]

    assert "".join(plain for plain, _ in results) == normalize("".join(pieces))
    for piece, (plain, segments) in zip(pieces, results, strict=True):
        assert "".join(text for text, _ in segments) == piece
        assert sum(width for _, width in segments) <= len(plain.replace(INVISIBLE, ""))
        assert all(width in (0, len(text)) for text, width in segments)


@given(st.text("abcdeéüñôйёẤ", max_size=20))
def test_composed_and_decomposed_letters_are_the_same(text: str) -> None:
    assert normalize(unicodedata.normalize("NFD", text)) == normalize(unicodedata.normalize("NFC", text))
