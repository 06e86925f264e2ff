"""Parses JSON and keeps the line and column of each value, which the standard library does not."""

import re
from bisect import bisect_right
from collections.abc import Callable
from json import JSONDecodeError, decoder
from typing import Any

from rightseat.config.document import KeyPath, Place, Problem, UnreadableDocument, YamlDocument, YamlLimits

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_scan: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]  # not in the stubs
_WORDS = {"true": True, "false": False, "null": None}


def load(text: str, bounds: YamlLimits) -> YamlDocument:
    """Raises `config.document.UnreadableDocument` if the text is not JSON. The document reports duplicate keys."""
    return _Scanner(text, bounds).read()


class _Scanner:
    def __init__(self, text: str, bounds: YamlLimits) -> None:
        self._text = text
        self._bounds = bounds
        self._at = 0
        self._document = YamlDocument()
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def read(self) -> YamlDocument:
        self._skip()
        self._document.value = self._value(())
        self._skip()
        if self._at < len(self._text):
            raise self._syntax_error("unexpected text after the end of the value")
        return self._document

    def _value(self, path: KeyPath) -> Any:
        if len(path) > self._bounds.depth:
            message = f"values are nested deeper than {self._bounds.depth} levels."
            raise UnreadableDocument(Problem(self._place(), message, "depth"))
        self._document.values[path] = self._place()
        match self._text[self._at : self._at + 1]:
            case "{":
                return self._object(path)
            case "[":
                return self._array(path)
            case '"':
                return self._string()
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        return self._number()

    def _object(self, path: KeyPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        self._skip()
        if self._take("}"):
            return found
        while True:
            place = self._place()
            if not self._text.startswith('"', self._at):
                raise self._syntax_error("expected a key in double quotes")
            key = self._string()
            self._skip()
            if not self._take(":"):
                raise self._syntax_error("expected a colon")
            self._skip()
            if key in found:
                first = self._document.keys[(*path, key)].line
                message = f"the key {key!r} is given twice; the first is on line {first}."
                self._document.problems.append(Problem(place, message, "twice", (*path, key)))
            else:
                self._document.keys[(*path, key)] = place
            found[key] = self._value((*path, key))
            if self._ends("}"):
                return found

    def _array(self, path: KeyPath) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        self._skip()
        if self._take("]"):
            return found
        while True:
            found.append(self._value((*path, len(found))))
            if self._ends("]"):
                return found

    def _ends(self, bracket: str) -> bool:
        self._skip()
        if self._take(bracket):
            return True
        if not self._take(","):
            raise self._syntax_error(f"expected a comma or {bracket}")
        self._skip()
        if self._text.startswith(bracket, self._at):
            raise self._syntax_error("unexpected comma after the last value")
        return False

    def _string(self) -> str:
        try:
            value, self._at = _scan(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            self._at = error.pos
            raise self._syntax_error(error.msg[0].lower() + error.msg[1:]) from None
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self._syntax_error("the text has a lone surrogate, which is not a character")
        return value

    def _number(self) -> int | float:
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            raise self._syntax_error("expected a value")
        try:
            value = float(found[0]) if found[1] or found[2] else int(found[0])
        except ValueError:
            raise self._syntax_error("the number has too many digits") from None
        if value in (float("inf"), float("-inf")):
            raise self._syntax_error("the number is too large")
        self._at = found.end()
        return value

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _take(self, character: str) -> bool:
        taken = self._text.startswith(character, self._at)
        self._at += taken
        return taken

    def _place(self) -> Place:
        line = bisect_right(self._lines, self._at)
        return Place(line, self._at - self._lines[line - 1] + 1)

    def _syntax_error(self, problem: str) -> UnreadableDocument:
        if self._text.startswith(("//", "/*", "#"), self._at):
            problem = "comments are not allowed"
        return UnreadableDocument(Problem(self._place(), f"this is not valid JSON: {problem}.", "syntax"))
