"""The conditions of a choice: `data.total > 0 and not question contains 'all'`.

    expr := or;  or := and ("or" and)*;  and := not ("and" not)*;  not := "not" not | cmp | "(" expr ")"
    cmp := val [op val];  op := == != < <= > >= in contains
    val := path | len(path) | number | 'text' | true | false | null

A path begins with `data`, `steps`, `question` or `files`, and is null where it leads nowhere. Values of different types
are never equal, unequal, less or more; null alone may be compared with anything by `==` and `!=`, which is how one asks
whether something is there. A value without an operator counts as true unless it is null, false, 0 or empty.

Nothing of this is Python: there are no other functions, and nothing is evaluated but what is written here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rightseat.core.values import JsonValue, json_equal
from rightseat.plugins import paths

ROOTS = ("data", "steps", "question", "files")
LONGEST, DEEPEST = 2000, 50

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "contains"]
Names = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Constant:
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Lookup:
    path: paths.Path


@dataclass(frozen=True, slots=True)
class Length:
    path: paths.Path


Value = Constant | Lookup | Length


@dataclass(frozen=True, slots=True)
class Compared:
    left: Value
    operator: Operator
    right: Value


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Any:
    parts: "tuple[Condition, ...]"


Condition = Value | Compared | Not | All | Any


class BadCondition(ValueError):
    """A text that is no condition. `position` is the first character that is wrong, counted from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def parse(text: str) -> Condition:
    """Raises `BadCondition`, and nothing else."""
    if len(text) > LONGEST:
        raise BadCondition(f"A condition has at most {LONGEST} characters.", LONGEST)
    return _Parser(text).parse()


def holds(condition: Condition, names: Names) -> bool:
    """Whether it is true. `names` has a value for each of `ROOTS`. It never raises."""
    match condition:
        case All(parts):
            return all(holds(part, names) for part in parts)
        case Any(parts):
            return any(holds(part, names) for part in parts)
        case Not(inner):
            return not holds(inner, names)
        case Compared(left, operator, right):
            return compare(value_of(left, names), operator, value_of(right, names))
    value = value_of(condition, names)
    return not (value is None or value is False or value == 0 or value in ("", [], {}))


def value_of(value: Value, names: Names) -> JsonValue:
    match value:
        case Constant(constant):
            return constant
        case Lookup(path):
            return paths.get(dict(names), path)
        case Length(path):
            found = paths.get(dict(names), path)
            return len(found) if isinstance(found, str | list | dict) else None


def compare(left: JsonValue, operator: Operator, right: JsonValue) -> bool:
    match operator:
        case "==":
            return json_equal(left, right)
        case "!=":
            is_comparable = left is None or right is None or kind(left) == kind(right)
            return is_comparable and not json_equal(left, right)
        case "in":
            return has(right, left)
        case "contains":
            return has(left, right)
    return ordered(left, operator, right)


def ordered(left: JsonValue, operator: Operator, right: JsonValue) -> bool:
    if kind(left) != kind(right) or kind(left) not in ("str", "number"):
        return False
    order = (left > right) - (left < right)  # type: ignore[operator]  # both are texts, or both are numbers
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def has(whole: JsonValue, part: JsonValue) -> bool:
    """A list its elements, a text its parts, an object its names."""
    if isinstance(whole, list):
        return any(json_equal(one, part) for one in whole)
    return isinstance(whole, str | dict) and isinstance(part, str) and part in whole


def kind(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


WORD = re.compile(r"[A-Za-z_]\w*")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?(?![\w.])")
TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
SIGN = re.compile(r"==|!=|<=|>=|<|>")
CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._either()
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("`and`, `or` or the end was expected here")
        return condition

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._take_word("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _both(self) -> Condition:
        parts = [self._negation()]
        while self._take_word("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _negation(self) -> Condition:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._wrong(f"more than {DEEPEST} conditions are inside of one another")
        try:
            if self._take_word("not"):
                return Not(self._negation())
            if self._take("("):
                inner = self._either()
                if not self._take(")"):
                    raise self._wrong("`)` was expected here")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Condition:
        left = self._value()
        operator = self._operator()
        return left if operator is None else Compared(left, operator, self._value())

    def _operator(self) -> Operator | None:
        self._skip()
        if found := SIGN.match(self._text, self._at):
            self._at = found.end()
            sign: Operator = found[0]  # type: ignore[assignment]  # the pattern has no others
            return sign
        if self._take_word("in"):
            return "in"
        return "contains" if self._take_word("contains") else None

    def _value(self) -> Value:
        self._skip()
        if found := NUMBER.match(self._text, self._at):
            self._at = found.end()
            return Constant(float(found[0]) if found[1] or found[2] else int(found[0]))
        if found := TEXT.match(self._text, self._at):
            self._at = found.end()
            return Constant(re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL))
        word = self._peek()
        if word in CONSTANTS:
            self._at += len(word)
            return Constant(CONSTANTS[word])
        if word == "len":
            return self._length()
        return Lookup(self._path())

    def _length(self) -> Length:
        self._at += len("len")
        if not self._take("("):
            raise self._wrong("`len` takes a path in parentheses: `len(data.items)`")
        self._skip()
        path = self._path()
        if not self._take(")"):
            raise self._wrong("`)` was expected here")
        return Length(path)

    def _path(self) -> paths.Path:
        if self._peek() not in ROOTS:
            raise self._wrong(f"a value was expected here: a path from {', '.join(ROOTS)}, a number or a 'text'")
        try:
            path, self._at = paths.scan(self._text, self._at)
        except paths.BadPath as error:
            raise BadCondition(str(error), error.position) from error
        first = path[0]
        if not isinstance(first, paths.Key) or first.name not in ROOTS:
            raise self._wrong(f"a path begins with one of {', '.join(ROOTS)}")
        return path

    def _peek(self) -> str:
        found = WORD.match(self._text, self._at)
        return found[0] if found else ""

    def _take_word(self, word: str) -> bool:
        self._skip()
        if self._peek() != word:
            return False
        self._at += len(word)
        return True

    def _take(self, sign: str) -> bool:
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _wrong(self, problem: str) -> BadCondition:
        there = self._text[self._at : self._at + 20]
        found = f"found {there!r}" if there else "the condition ends"
        return BadCondition(f"{problem[0].upper()}{problem[1:]}; {found}.", self._at)
