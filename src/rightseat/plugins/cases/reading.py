"""`tests/cases.yaml`: what a flow shall do, with everything that a model and an API say in it."""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rightseat.core.errors import RightseatError
from rightseat.core.values import JsonValue

FILE = "tests/cases.yaml"
LARGEST = 1_000_000  # bytes

Status = Literal["succeeded", "failed_handled", "failed", "cancelled", "waiting_input", "waiting_approval"]


class BadCases(RightseatError):
    """The file of cases cannot be used."""

    code = "bad_cases"
    status = 400


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CaseFile(_Shape):
    name: str
    text: str = ""
    media_type: str = ""
    """Else what the name says."""


class Request(_Shape):
    """`json`, `form` and `multipart` are compared where they are given; files of a multipart body go by their names."""

    method: str
    url: str
    headers: dict[str, str] = {}
    json_body: Any = Field(default=None, alias="json")
    form: dict[str, Any] | None = None
    multipart: dict[str, Any] | None = None


class Reply(_Shape):
    status: int = 200
    headers: dict[str, str] = {}
    json_body: Any = Field(default=None, alias="json")
    text: str | None = None


class Exchange(_Shape):
    request: Request
    reply: Reply = Reply()


class Chart(_Shape):
    series_types: list[str] | None = None
    rows: int | None = None


class Expected(_Shape):
    status: Status | None = None
    path: list[str] | None = None
    error_code: str | None = None
    missing: list[str] | None = None
    artifacts: list[str] | None = None
    chart: Chart | None = None
    model_calls: dict[str, int] = {}
    not_in_prompts: list[str] = []
    not_in_trace: list[str] = []
    answer_contains: Annotated[list[str], BeforeValidator(lambda one: [one] if isinstance(one, str) else one)] = []


class Case(_Shape):
    """`model` has, for a step (or `on_error`, `answer`), one reply for every call of it, or a list of them in turn."""

    name: str
    flow: str
    question: str
    files: list[CaseFile] = []
    model: dict[str, Any] = {}
    http: list[Exchange] = []
    expect: Expected = Expected()
    language: str = "en"


class _Loader(yaml.SafeLoader):
    """Dates stay texts, as they are in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(folder: Path) -> list[Case]:
    """The cases of a plugin; none if it has no file of them. Raises `BadCases`."""
    file = folder / FILE
    if not file.is_file():
        return []
    if file.stat().st_size > LARGEST:
        raise BadCases(f"{file} has more than {LARGEST} bytes.")
    try:
        found: JsonValue = yaml.load(file.read_text("utf-8-sig"), _Loader)  # noqa: S506  # a safe loader of ours
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadCases(f"{file} cannot be read: {error}") from error
    if not isinstance(found, list):
        raise BadCases(f"{file} should be a list of cases.")
    return [_read_case(file, number, one) for number, one in enumerate(found)]


def _read_case(file: Path, number: int, value: JsonValue) -> Case:
    try:
        return Case.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in (number, *first["loc"]))
        raise BadCases(f"{file}: {place}: {first['msg']}") from error
