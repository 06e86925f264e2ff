"""The scorers' options: what a dataset may say under the name of each scorer."""

from typing import Annotated, Any, ClassVar, Literal, Self

import jsonschema_rs
import re2  # type: ignore[import-untyped]  # it has no types
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from rightseat.core.types import JsonValue
from rightseat.json_schema import SchemaValidator, check_schema
from rightseat.json_schema.cost import SchemaTooCostly

MAX_PROGRAM_BYTES = 16 * 1024 * 1024  # of a compiled expression
RunOutcome = Literal["done", "waiting", "failed", "cancelled"]


class ScorerOptions(BaseModel):
    """`shorthand` is the option that a value sets which is no mapping: `contains: "120"` means `{text: "120"}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    shorthand: ClassVar[str | None] = None

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return {cls.shorthand: value} if cls.shorthand and not isinstance(value, dict) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [schema["properties"][cls.shorthand], schema]} if cls.shorthand else schema


def _list_texts(value: Any) -> Any:
    texts = value if isinstance(value, list | tuple) else [value]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise ValueError("should be a text or a list of texts; a number needs quotes.")
    return texts


Texts = Annotated[
    tuple[str, ...],
    Field(json_schema_extra={"type": ["string", "array"]}),
    BeforeValidator(_list_texts),
]
"""A text, or a list of texts."""


class Contains(ScorerOptions):
    """The answer contains the text; of a list, each."""

    shorthand = "text"
    text: Texts
    ignore_case: bool = False


class Excludes(ScorerOptions):
    """The answer contains none of the texts."""

    shorthand = "text"
    text: Texts
    ignore_case: bool = False


class Regex(ScorerOptions):
    """The expression, in the syntax of RE2, matches somewhere in the answer."""

    shorthand = "pattern"
    pattern: str
    ignore_case: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.compile()
        return self

    def compile(self) -> Any:
        """RE2's search time is linear in the text. Look-around and back-references are errors."""
        options = re2.Options()
        options.max_mem, options.log_errors, options.case_sensitive = MAX_PROGRAM_BYTES, False, not self.ignore_case
        try:
            return re2.compile(self.pattern, options)
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            raise ValueError(f"this is no expression that RE2 can search in linear time: {reason}.") from None


class Equals(ScorerOptions):
    """The answer is exactly the text. `equals: expected` compares with the `expected` of the case."""

    shorthand = "text"
    text: str | None = None
    ignore_case: bool = False

    @model_validator(mode="before")
    @classmethod
    def _from_case(cls, value: Any) -> Any:
        return {} if value == "expected" else value


class MatchesSchema(ScorerOptions):
    """The answer is JSON that matches the JSON Schema."""

    json_schema: Any

    @model_validator(mode="before")
    @classmethod
    def _wrap(cls, value: Any) -> Any:
        return {"json_schema": value}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not isinstance(self.json_schema, dict | bool):
            raise ValueError("this is no JSON Schema: it should be a mapping.")
        try:
            check_schema(self.json_schema)
            SchemaValidator(self.json_schema)
        except (ValueError, jsonschema_rs.ReferencingError, SchemaTooCostly) as error:
            raise ValueError(f"this JSON Schema cannot be used: {str(error).partition(chr(10))[0]}") from None
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"description": cls.__doc__, "type": ["object", "boolean"]}


class Number(ScorerOptions):
    """A number of the answer is `near` a value, or in a range."""

    near: float | None = None
    within: float = Field(default=0, ge=0)
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        has_range = self.at_least is not None or self.at_most is not None
        if has_range is (self.near is not None):
            raise ValueError("it should have `near` and `within`, or `at_least` and `at_most`.")
        return self


class ExpectedCall(ScorerOptions):
    """A call by the name of its tool, and a subset of its arguments."""

    shorthand = "name"
    name: str
    arguments: dict[str, JsonValue] = {}


class ToolCalls(ScorerOptions):
    """The calls that the model made. `exact` allows no others, `in_order` others between them."""

    expect: tuple[ExpectedCall, ...] = ()
    order: Literal["exact", "in_order", "any"] = "in_order"
    deny: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.model_fields_set & {"expect", "deny"}:
            raise ValueError("it should have `expect` or `deny`.")
        return self


class Citation(ScorerOptions):
    """The answer has a citation: a link, or a citation of a tool. With `contains`, one with this text."""

    shorthand = "required"
    required: Literal[True] = True
    contains: str | None = None


class GuardVerdict(ScorerOptions):
    """Whether a guard denied the question or the answer."""

    shorthand = "verdict"
    verdict: Literal["denied", "passed"] = "denied"
    denied_by: str | None = None


class RunOutcomeIs(ScorerOptions):
    """How the run ended."""

    shorthand = "run"
    run: RunOutcome


class Latency(ScorerOptions):
    """The milliseconds of the whole case."""

    at_most_ms: float = Field(gt=0)


class AtMost(ScorerOptions):
    """The figure of the whole case."""

    at_most: float = Field(ge=0)


class JudgeOptions(ScorerOptions):
    """A model judges the answer by the rubric."""

    rubric: str = Field(min_length=1)
    model: str = "default"


SCORERS: dict[str, type[ScorerOptions]] = {
    "contains": Contains,
    "excludes": Excludes,
    "regex": Regex,
    "equals": Equals,
    "json_schema": MatchesSchema,
    "number": Number,
    "tool_calls": ToolCalls,
    "citation": Citation,
    "guard": GuardVerdict,
    "outcome": RunOutcomeIs,
    "latency": Latency,
    "tokens": AtMost,
    "cost": AtMost,
    "model_calls": AtMost,
    "judge": JudgeOptions,
}


def is_own(name: str) -> bool:
    """Whether the name is that of a function, as `module:function`."""
    return "." in name or ":" in name
