"""A quotation is found where it stands, and nowhere else."""

import pytest

from rightseat.data.quotes import DocumentIndex, QuoteBox, find
from rightseat.data.values import DocumentPage, ParsedDocument, Word


def letter(*pages: str) -> ParsedDocument:
    """Each line 20 points high, each letter 5 wide; pages as text with line breaks."""
    return ParsedDocument("letter.pdf", "pdf", tuple(page(number, text) for number, text in enumerate(pages, 1)))


def page(number: int, text: str) -> DocumentPage:
    words: list[Word] = []
    for line, words_of_line in enumerate(text.split("\n")):
        x = 50.0
        for word in words_of_line.split():
            words.append(Word(word, x, 100.0 + 20 * line, x + 5 * len(word), 112.0 + 20 * line))
            x += 5 * len(word) + 5
    return DocumentPage(number, text, tuple(words))


REPORT = letter(
    "Dear shareholders,\nrevenue increased 15% in 2024, to $1,234.5 million, driven by inter-\n"
    "national demand for our long-term contracts.\nCosts did not rise.\nConfidential 1",
    "Annual Report\nThe board proposes a dividend of\n“two” dollars per share.",
)  # fmt: skip


def found(quotation: str) -> list[str] | None:
    boxes = find(quotation, REPORT)
    return None if boxes is None else [f"{box.page}: {box.text}" for box in boxes[0]]


def test_a_line_is_found_with_its_box() -> None:
    assert find("Costs did not rise.", REPORT) == [[QuoteBox("Costs did not rise.", 1, 50.0, 160.0, 145.0, 172.0)]]


def test_each_line_has_a_box_of_its_own() -> None:
    boxes = find("contracts. Costs did", REPORT)

    assert boxes is not None
    assert [(box.text, box.top) for box in boxes[0]] == [("contracts.", 140.0), ("Costs did", 160.0)]


@pytest.mark.parametrize(
    "quotation",
    [
        "REVENUE   increased\n15% in 2024",
        "revenue increased 15% in 2024.",
        "driven by international demand",
        "“driven by international demand”",
        "long-term contracts",
        "long‑term contracts",
        "to $1,234.5 million",
    ],
)
def test_white_space_case_hyphens_and_marks_make_no_difference(quotation: str) -> None:
    assert found(quotation) is not None


@pytest.mark.parametrize(
    "quotation",
    [
        "revenue increased 16% in 2024",
        "revenue increased 1.5% in 2024",
        "revenue increased 15 in 2024",
        "to $12,345 million",
        "Costs did rise.",
        "venue increased",
        "Profits doubled in every quarter of the year.",
        "",
        "…",
        "- –",
    ],
)
def test_a_quotation_that_is_not_in_the_text_is_not_found(quotation: str) -> None:
    assert found(quotation) is None


def test_a_quotation_may_have_a_gap() -> None:
    assert found("Dear shareholders […] Costs did not rise") == ["1: Dear shareholders,", "1: Costs did not rise."]
    assert found("Costs did not rise … Dear shareholders") is None


def test_a_quotation_may_continue_on_the_next_page_past_footer_and_header() -> None:
    assert found("Costs did not rise. The board proposes a dividend") == [
        "1: Costs did not rise.",
        "2: The board proposes a dividend",
    ]


def test_a_long_quotation_may_differ_in_a_word() -> None:
    assert found("The board proposes one dividend of two dollars per share") == [
        "2: The board proposes a dividend of",
        "2: “two” dollars per share.",
    ]


@pytest.mark.parametrize(
    "quotation",
    [
        "The board never proposes a dividend of two dollars per share",
        "The board proposes a dividend of 3 dollars per share",
        "The board rejects any dividend of two dollars per share",
    ],
)
def test_a_long_quotation_may_not_differ_in_what_it_says(quotation: str) -> None:
    assert found(quotation) is None


def test_a_document_without_words_has_no_places() -> None:
    assert find("some words here", ParsedDocument("a.txt", "txt", (DocumentPage(1, "some words here"),))) is None


def test_a_long_document_is_searched_quickly() -> None:
    pages = [
        "\n".join(f"line {line} of page {number} has a few words in it" for line in range(40)) for number in range(300)
    ]
    finder = DocumentIndex(letter(*pages))

    assert finder.find("line 39 of page 299 has a few words in it") is not None
    assert finder.find("line 39 of page 299 has some other words in it altogether") is None
