"""Extracts the visible text of web pages, without scripts and styles."""

import re
from html.parser import HTMLParser

HIDDEN_TAGS = frozenset({"head", "iframe", "noscript", "object", "script", "style", "svg", "template"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCKS = HEADINGS | {
    "address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "form",
    "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul",
}  # fmt: skip


def read(text: str) -> str:
    extractor = HtmlTextExtractor()
    extractor.feed(text)
    extractor.close()
    lines = (re.sub(r"[ \t\xa0]+", " ", line).strip() for line in "".join(extractor.pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class HtmlTextExtractor(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden_tag: str = ""

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """`<![…` is a comment in HTML; the parser of older Pythons fails on some of them."""
        return self.parse_bogus_comment(i, report)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden_tag:
            if tag == "body" and self._hidden_tag == "head":  # an unclosed head
                self._hidden_tag = ""
            return
        if tag in HIDDEN_TAGS:
            self._hidden_tag = tag
        elif tag in BLOCKS:
            mark = "- " if tag == "li" else "#" * int(tag[1]) + " " if tag in HEADINGS else ""
            self.pieces.append(f"\n{mark}")
        elif tag == "br":
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden_tag:
            if tag == self._hidden_tag:
                self._hidden_tag = ""
        elif tag in BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden_tag:
            self.pieces.append(re.sub(r"\s+", " ", data))
