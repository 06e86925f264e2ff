"""The samples of the original guide, and what plugins in the field do."""

import pytest

from rightseat.plugins.loading import LoadResult
from tests.plugins.loading.sample import FLOW, METADATA, OPENAPI, SAMPLE, codes, load, one

MINIMAL = r"""openapi: 3.0.0
info:
  version: 1.0.0
  title: "A title"

servers:
  - url: "http://example.com:port/suffix"

paths:
  /url:
    post:
      description: "What the API does, with its input"
      requestBody:
        description: "The body"
        content:
          application/json:
            schema:
              type: object
              required:
                - data
              properties:
                data:
                  type: string
                  example: "an example"
                  description: "what it is"
                  pattern: "[\d].[\d]"
      responses:
        '200':
          description: "The answer"
          content:
            application/json:
              schema:
                type: object
                properties:
                  name:
                    type: string
                    example: "an example"
"""
LIST = """schema:
              - type: object
                required:
                  - id
                  - name
                description: An object
                properties:
                  id:
                    type: integer
                    description: Its id
                    pattern: "2"
                  name:
                    type: string
                    description: Its name
                    pattern: "[a-z0-9]{1,20}"
                  gender:
                    type: string
                    enum: [male, female, others]
                    example: "male"
                  posts:
                    type: array
                    items: {type: integer, default: 10}
"""
GUIDE_FLOW = """name: example_id
description: A description.
on_error:
  call_type: llm
  params:
    system_prompt: You are a helpful assistant.
    user_prompt: |
      It failed: {data}. Say how it could be mended.

      What was before: {context}
steps:
  - name: start
    call_type: api
    params:
      endpoint: POST /url
    next: flow_choice
  - name: flow_choice
    call_type: choice
    params:
      instruction: Is it a report?
      choices:
        - step: report_gen
          description: It is none
        - step: end
          description: It is one
  - name: report_gen
    call_type: llm
    params:
      system_prompt: You write reports.
      user_prompt: |-
        {question}
        {data}
        {context}
        {time}
    next: end
  - name: end
    call_type: none
"""


def guide(document: str) -> LoadResult:
    return load({"plugin.json": METADATA, "openapi.yaml": document, "flows/a.yaml": GUIDE_FLOW})


def test_R_17_2_the_minimal_document_needs_a_real_port() -> None:
    assert set(codes(guide(MINIMAL))) == {"W226", "E208"}

    found = guide(MINIMAL.replace(":port", ":8080"))

    assert codes(found) == ["W226", "W226"]
    assert one(guide(MINIMAL), "E208").line == 7
    assert found.plugin is not None
    assert found.plugin.server == "http://example.com:8080/suffix"


def test_R_17_2_a_schema_written_as_a_list_is_read() -> None:
    start = MINIMAL.index("schema:\n              type: object")
    document = MINIMAL[:start] + LIST + MINIMAL[MINIMAL.index("      responses:") :]

    found = guide(document.replace(":port", ":8080"))

    assert codes(found) == ["W223"]
    assert found.plugin is not None
    body = found.plugin.operations["POST /url"].body
    assert body is not None
    assert body.schema["type"] == "object"


def test_R_17_2_the_flow_of_the_guide_has_no_diagnostics() -> None:
    found = guide(MINIMAL.replace(":port", ":8080"))

    assert [one for one in found.diagnostics if one.file.startswith("flows/")] == []


def test_R_17_3_a_document_made_by_fastapi_is_read() -> None:
    error = """        '422':
          description: Validation Error
          content:
            application/json:
              schema: {$ref: '#/components/schemas/HTTPValidationError'}
"""
    errors = """components:
  schemas:
    HTTPValidationError:
      title: HTTPValidationError
      type: object
      properties:
        detail: {title: Detail, type: array, items: {$ref: '#/components/schemas/ValidationError'}}
    ValidationError:
      title: ValidationError
      required: [loc, msg, type]
      type: object
      properties:
        loc: {title: Location, type: array, items: {anyOf: [{type: string}, {type: integer}]}}
        msg: {title: Message, type: string}
        type: {title: Error Type, type: string}
"""
    document = OPENAPI.replace("schema: {type: object}\n", "schema: {}\n" + error) + errors

    found = load({**SAMPLE, "openapi.yaml": document})

    assert found.diagnostics == ()
    assert found.plugin is not None
    assert found.plugin.operations["GET /things/{id}"].statuses["422"] == "Validation Error"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (
            {**SAMPLE, "flows/look_up.yaml": FLOW.replace("name: end\n", "name: last\n").replace(": end", ": last")},
            "I301",
        ),
        ({**SAMPLE, "openapi.yaml": OPENAPI.replace("type: integer", "type: any")}, "W220"),
        ({**SAMPLE, "plugin.json": METADATA.replace('"id": "sample"', '"id": "sample2"')}, "W101"),
    ],
)
def test_R_17_3_common_deviations_are_loaded_with_a_warning(files: dict[str, str], code: str) -> None:
    found = load(files)

    assert codes(found) == [code]
    assert found.plugin is not None
