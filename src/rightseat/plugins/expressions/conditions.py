"""Parses and evaluates the conditions of a choice: `data.total > 0 and not question contains 'all'`.

    expr := or;  or := and ("or" and)*;  and := not ("and" not)*;  not := "not" not | cmp | "(" expr ")"
    cmp := val [op val];  op := == != < <= > >= in contains
    val := path | len(path) | number | 'text' | true | false | null

A path begins with `data`, `steps`, `question` or `files`; a path without a value is null. Any comparison of values of
different types is false; only null can be compared with anything by `==` and `!=`, to test whether a value exists. A
value without an operator is true unless it is null, false, 0 or empty.

Conditions are not Python: there are no other functions, and only this grammar is evaluated.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rightseat.core.types import JsonValue, json_equal
from rightseat.plugins.expressions import paths

ROOTS = ("data", "steps", "question", "files")
MAX_CHARS, MAX_DEPTH = 2000, 50

ComparisonOperator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "contains"]
Names = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Constant:
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Lookup:
    path: paths.ValuePath


@dataclass(frozen=True, slots=True)
class LengthOf:
    path: paths.ValuePath


Operand = Constant | Lookup | LengthOf


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Operand
    operator: ComparisonOperator
    right: Operand


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Condition"


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: "tuple[Condition, ...]"


Condition = Operand | Comparison | Not | AllOf | AnyOf


class InvalidCondition(ValueError):
    """The text is not a valid condition. `position` is the offset of the first invalid character."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def parse(text: str) -> Condition:
    """Raises `InvalidCondition`, and nothing else."""
    if len(text) > MAX_CHARS:
        raise InvalidCondition(f"A condition has at most {MAX_CHARS} characters.", MAX_CHARS)
    return _Parser(text).parse()


def evaluate(condition: Condition, names: Names) -> bool:
    """Return whether the condition is true. `names` has a value for each of `ROOTS`. Never raises."""
    match condition:
        case AllOf(parts):
            return all(evaluate(part, names) for part in parts)
        case AnyOf(parts):
            return any(evaluate(part, names) for part in parts)
        case Not(inner):
            return not evaluate(inner, names)
        case Comparison(left, operator, right):
            return compare(resolve_value(left, names), operator, resolve_value(right, names))
    value = resolve_value(condition, names)
    return not (value is None or value is False or value == 0 or value in ("", [], {}))


def resolve_value(value: Operand, names: Names) -> JsonValue:
    match value:
        case Constant(constant):
            return constant
        case Lookup(path):
            return paths.get(dict(names), path)
        case LengthOf(path):
            found = paths.get(dict(names), path)
            return len(found) if isinstance(found, str | list | dict) else None


def compare(left: JsonValue, operator: ComparisonOperator, right: JsonValue) -> bool:
    match operator:
        case "==":
            return json_equal(left, right)
        case "!=":
            is_comparable = left is None or right is None or get_type_name(left) == get_type_name(right)
            return is_comparable and not json_equal(left, right)
        case "in":
            return contains(right, left)
        case "contains":
            return contains(left, right)
    return compare_order(left, operator, right)


def compare_order(left: JsonValue, operator: ComparisonOperator, right: JsonValue) -> bool:
    if get_type_name(left) != get_type_name(right) or get_type_name(left) not in ("str", "number"):
        return False
    order = (left > right) - (left < right)  # type: ignore[operator]  # both are strings or both are numbers
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def contains(container: JsonValue, item: JsonValue) -> bool:
    """A list contains its elements, a string its substrings, an object its keys."""
    if isinstance(container, list):
        return any(json_equal(one, item) for one in container)
    return isinstance(container, str | dict) and isinstance(item, str) and item in container


def get_type_name(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


WORD_PATTERN = re.compile(r"[A-Za-z_]\w*")
NUMBER_PATTERN = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?(?![\w.])")
TEXT_PATTERN = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
OPERATOR_PATTERN = re.compile(r"==|!=|<=|>=|<|>")
CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._parse_or()
        self._skip()
        if self._at < len(self._text):
            raise self._error("`and`, `or` or the end was expected here")
        return condition

    def _parse_or(self) -> Condition:
        parts = [self._parse_and()]
        while self._take_word("or"):
            parts.append(self._parse_and())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _parse_and(self) -> Condition:
        parts = [self._parse_not()]
        while self._take_word("and"):
            parts.append(self._parse_not())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _parse_not(self) -> Condition:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"more than {MAX_DEPTH} levels of nesting")
        try:
            if self._take_word("not"):
                return Not(self._parse_not())
            if self._take("("):
                inner = self._parse_or()
                if not self._take(")"):
                    raise self._error("`)` was expected here")
                return inner
            return self._parse_comparison()
        finally:
            self._depth -= 1

    def _parse_comparison(self) -> Condition:
        left = self._parse_value()
        operator = self._parse_operator()
        return left if operator is None else Comparison(left, operator, self._parse_value())

    def _parse_operator(self) -> ComparisonOperator | None:
        self._skip()
        if found := OPERATOR_PATTERN.match(self._text, self._at):
            self._at = found.end()
            sign: ComparisonOperator = found[0]  # type: ignore[assignment]  # the pattern has no others
            return sign
        if self._take_word("in"):
            return "in"
        return "contains" if self._take_word("contains") else None

    def _parse_value(self) -> Operand:
        self._skip()
        if found := NUMBER_PATTERN.match(self._text, self._at):
            self._at = found.end()
            return Constant(float(found[0]) if found[1] or found[2] else int(found[0]))
        if found := TEXT_PATTERN.match(self._text, self._at):
            self._at = found.end()
            return Constant(re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL))
        word = self._peek()
        if word in CONSTANTS:
            self._at += len(word)
            return Constant(CONSTANTS[word])
        if word == "len":
            return self._parse_length()
        return Lookup(self._parse_path())

    def _parse_length(self) -> LengthOf:
        self._at += len("len")
        if not self._take("("):
            raise self._error("`len` takes a path in parentheses: `len(data.items)`")
        self._skip()
        path = self._parse_path()
        if not self._take(")"):
            raise self._error("`)` was expected here")
        return LengthOf(path)

    def _parse_path(self) -> paths.ValuePath:
        if self._peek() not in ROOTS:
            raise self._error(f"a value was expected here: a path from {', '.join(ROOTS)}, a number or a 'text'")
        try:
            path, self._at = paths.scan(self._text, self._at)
        except paths.InvalidPath as error:
            raise InvalidCondition(str(error), error.position) from error
        first = path[0]
        if not isinstance(first, paths.KeyPart) or first.name not in ROOTS:
            raise self._error(f"a path begins with one of {', '.join(ROOTS)}")
        return path

    def _peek(self) -> str:
        found = WORD_PATTERN.match(self._text, self._at)
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

    def _error(self, problem: str) -> InvalidCondition:
        rest = self._text[self._at : self._at + 20]
        found = f"found {rest!r}" if rest else "the condition ends"
        return InvalidCondition(f"{problem[0].upper()}{problem[1:]}; {found}.", self._at)
