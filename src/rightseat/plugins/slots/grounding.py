"""Where a value comes from: did the person say it, does the conversation or the data have it, or nobody?"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rightseat.core.values import JsonValue
from rightseat.plugins import prompting
from rightseat.plugins.definition import Schema
from rightseat.plugins.operations.checking import shortest
from rightseat.plugins.results import Origin
from rightseat.plugins.scene import Scene

NUMBERS = {
    0: ("zero", "零", "〇"), 1: ("one", "一"), 2: ("two", "二", "两"), 3: ("three", "三"), 4: ("four", "四"),
    5: ("five", "五"), 6: ("six", "六"), 7: ("seven", "七"), 8: ("eight", "八"), 9: ("nine", "九"), 10: ("ten", "十"),
    11: ("eleven", "十一"), 12: ("twelve", "十二"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sources:
    """What was said and what is known, as text to look for values in."""

    question: str
    context: str
    data: str

    @classmethod
    def of(cls, scene: Scene, files: Mapping[str, object]) -> "Sources":
        outputs = [scene.data, *(result.output for result in scene.steps.values())]
        context = "\n".join([prompting.context(scene), prompting.told_history(scene), *files])
        return cls(usual(scene.question), usual(context), usual("\n".join(map(dumped, outputs))))

    def origin(self, value: JsonValue) -> Origin:
        """Of a list or an object, all of it must be known; the origin is that of its first part."""
        parts = list(leaves(value))
        found = [self._origin(part) for part in parts]
        return "ungrounded" if not found or "ungrounded" in found else found[0]

    def has(self, value: JsonValue) -> bool:
        return self.origin(value) != "ungrounded"

    def _origin(self, value: JsonValue) -> Origin:
        if is_in(value, self.question):
            return "question"
        if is_in(value, self.context):
            return "context"
        return "data" if is_in(value, self.data) else "ungrounded"


def is_example(schema: Schema, value: JsonValue) -> bool:
    """Is it what the document gave to show the form?"""
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
    """As a word of its own where it is written with letters that words are divided by; anywhere where it is not."""
    if isinstance(value, bool) or value is None or value == "":
        return False
    if isinstance(value, str):
        return has_word(usual(value).strip(), text)
    shown = shortest(value) or ""
    spelt = NUMBERS.get(int(shown), ()) if shown.isdecimal() and len(shown) < 3 else ()
    return any(has_word(word, text) for word in (shown, *spelt))


def has_word(word: str, text: str) -> bool:
    if not word:
        return False
    before = r"(?<![a-z0-9])(?<![0-9][.,])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"(?![a-z0-9])(?![.,][0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return re.search(before + re.escape(word) + after, text) is not None


def usual(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def dumped(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
