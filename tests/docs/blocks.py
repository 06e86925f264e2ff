"""The code blocks of README and of every page of the documentation.

A block that shows a part of something is marked: the line `<!-- excerpt -->` stands before it, and is not rendered.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("README.md"))]
BLOCK = re.compile(
    r"(?P<mark>^[ ]*<!-- excerpt -->\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>[\w-]*)(?:[ ]title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    place: str
    """The page and the line, as editors open them."""
    language: str
    title: str | None
    """The name of a file that is no configuration."""
    code: str
    is_excerpt: bool


def find_blocks(*languages: str) -> list[Block]:
    """Without `languages`: all blocks. With: those that are in one of them and no excerpts."""
    found = [block for page in PAGES for block in read_blocks(page)]
    return [one for one in found if one.language in languages and not one.is_excerpt] if languages else found


def read_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("indent")) + 1
        place = f"{page.relative_to(ROOT)}:{line}"
        yield Block(place, match["language"], match["title"], dedent(match["code"]), match["mark"] is not None)


def forget_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and after the test, for another page has a module of the same name."""
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    del sys.modules[name]
