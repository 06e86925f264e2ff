"""Parses `tests/cases.yaml`: the expected runs of flows, with the responses of models and APIs."""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rightseat.core.errors import RightseatError
from rightseat.core.types import JsonValue

FILE = "tests/cases.yaml"
MAX_FILE_BYTES = 1_000_000

Status = Literal["succeeded", "failed_handled", "failed", "cancelled", "waiting_input", "waiting_approval"]


class BadCases(RightseatError):
    """The file of test cases is invalid."""

    code = "bad_cases"
    status = 400


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CaseFile(_Shape):
    name: str
    text: str = ""
    media_type: str = ""
    """Default: by the extension of the name."""


class ExpectedRequest(_Shape):
    """`json`, `form` and `multipart` are compared if set; files of a multipart body are compared by name."""

    method: str
    url: str
    headers: dict[str, str] = {}
    json_body: Any = Field(default=None, alias="json")
    form: dict[str, Any] | None = None
    multipart: dict[str, Any] | None = None


class MockResponse(_Shape):
    status: int = 200
    headers: dict[str, str] = {}
    json_body: Any = Field(default=None, alias="json")
    text: str | None = None


class MockExchange(_Shape):
    request: ExpectedRequest
    reply: MockResponse = MockResponse()


class ExpectedChart(_Shape):
    series_types: list[str] | None = None
    rows: int | None = None


class ExpectedRun(_Shape):
    status: Status | None = None
    path: list[str] | None = None
    error_code: str | None = None
    missing: list[str] | None = None
    artifacts: list[str] | None = None
    chart: ExpectedChart | None = None
    model_calls: dict[str, int] = {}
    not_in_prompts: list[str] = []
    not_in_trace: list[str] = []
    answer_contains: Annotated[list[str], BeforeValidator(lambda one: [one] if isinstance(one, str) else one)] = []


class PluginCase(_Shape):
    """`model` maps a step (or `on_error`, `answer`) to one response for all its calls, or a list of one per call."""

    name: str
    flow: str
    question: str
    files: list[CaseFile] = []
    model: dict[str, Any] = {}
    http: list[MockExchange] = []
    expect: ExpectedRun = ExpectedRun()
    language: str = "en"


class _Loader(yaml.SafeLoader):
    """Dates stay strings, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_cases(folder: Path) -> list[PluginCase]:
    """The test cases of a plugin; empty without a file. Raises `BadCases`."""
    file = folder / FILE
    if not file.is_file():
        return []
    if file.stat().st_size > MAX_FILE_BYTES:
        raise BadCases(f"{file} has more than {MAX_FILE_BYTES:,} bytes.")
    try:
        cases: JsonValue = yaml.load(file.read_text("utf-8-sig"), _Loader)  # noqa: S506  # a subclass of SafeLoader
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadCases(f"{file} cannot be read: {error}") from error
    if not isinstance(cases, list):
        raise BadCases(f"{file} must be a list of cases.")
    return [_read_case(file, number, one) for number, one in enumerate(cases)]


def _read_case(file: Path, number: int, value: JsonValue) -> PluginCase:
    try:
        return PluginCase.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in (number, *first["loc"]))
        raise BadCases(f"{file}: {place}: {first['msg']}") from error
