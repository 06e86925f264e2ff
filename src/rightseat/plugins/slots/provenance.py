"""Finds the origin of an argument's value: the question, the conversation, the data, or none (ungrounded)."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Schema
from rightseat.plugins.expressions import prompts
from rightseat.plugins.operations.validation import format_number
from rightseat.plugins.results import ValueOrigin
from rightseat.plugins.scope import Scope

NUMBER_WORDS = {
    0: ("zero", "零", "〇"), 1: ("one", "一"), 2: ("two", "二", "两"), 3: ("three", "三"), 4: ("four", "四"),
    5: ("five", "五"), 6: ("six", "六"), 7: ("seven", "七"), 8: ("eight", "八"), 9: ("nine", "九"), 10: ("ten", "十"),
    11: ("eleven", "十一"), 12: ("twelve", "十二"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ValueSources:
    """The texts in which values are searched, normalized."""

    question: str
    context: str
    data: str

    @classmethod
    def from_scope(cls, scope: Scope, files: Mapping[str, object]) -> "ValueSources":
        outputs = [scope.data, *(result.output for result in scope.steps.values())]
        context = "\n".join([prompts.format_context(scope), prompts.format_history(scope), *files])
        return cls(normalize(scope.question), normalize(context), normalize("\n".join(map(to_text, outputs))))

    def origin(self, value: JsonValue) -> ValueOrigin:
        """The origin of the first leaf; `ungrounded` if any leaf of a list or object is."""
        parts = list(leaves(value))
        found = [self._origin(part) for part in parts]
        return "ungrounded" if not found or "ungrounded" in found else found[0]

    def has(self, value: JsonValue) -> bool:
        return self.origin(value) != "ungrounded"

    def _origin(self, value: JsonValue) -> ValueOrigin:
        if is_in(value, self.question):
            return "question"
        if is_in(value, self.context):
            return "context"
        return "data" if is_in(value, self.data) else "ungrounded"


def is_example(schema: Schema, value: JsonValue) -> bool:
    """Is it an example value of the schema?"""
    examples = schema.get("examples")
    shown = [*(examples if isinstance(examples, list) else []), *([schema["example"]] if "example" in schema else [])]
    return any(type(value) is type(one) and value == one for one in shown)


def leaves(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def is_in(value: JsonValue, text: str) -> bool:
    """ASCII words must match as whole words; other scripts match anywhere."""
    if isinstance(value, bool) or value is None or value == "":
        return False
    if isinstance(value, str):
        return has_word(normalize(value).strip(), text)
    digits = format_number(value) or ""
    words = NUMBER_WORDS.get(int(digits), ()) if digits.isdecimal() and len(digits) < 3 else ()
    return any(has_word(word, text) for word in (digits, *words))


def has_word(word: str, text: str) -> bool:
    if not word:
        return False
    before = r"(?<![a-z0-9])(?<![0-9][.,])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"(?![a-z0-9])(?![.,][0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return re.search(before + re.escape(word) + after, text) is not None


def normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def to_text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
