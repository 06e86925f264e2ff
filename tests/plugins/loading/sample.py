"""A small plugin that is in order, to be spoilt in one place at a time."""

from collections.abc import Mapping
from pathlib import Path

from rightseat.plugins.diagnostics import Diagnostic, Mode
from rightseat.plugins.loading import LIMITS, OPERATOR, LoadResult, OperatorSettings, PluginLimits, load_files

METADATA = """\
{
  "id": "sample",
  "name": "Sample",
  "description": "Looks things up by their id and starts jobs.",
  "version": "1.2.3",
  "automatic_flow": false,
  "auth": {
    "type": "header",
    "args": { "Authorization": "Bearer ${secret:SAMPLE}" }
  }
}
"""
OPENAPI = """\
openapi: 3.0.3
info:
  title: Sample
  version: 1.0.0
servers:
  - url: https://api.example.com/v1
paths:
  /things/{id}:
    get:
      operationId: get_thing
      description: One thing by its id.
      parameters:
        - name: id
          in: path
          required: true
          description: The id.
          schema:
            type: string
      responses:
        '200':
          description: The thing.
          content:
            application/json:
              schema: {type: object}
  /jobs:
    post:
      operationId: start_job
      description: Starts a job and returns its number.
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [size]
              properties:
                size:
                  type: integer
                  description: How large.
      responses:
        '200':
          description: The job.
"""
FLOW = """\
name: look_up
description: Looks up one thing and explains it.
on_error:
  call_type: llm
  params:
    user_prompt: "It failed: {error.message}"
steps:
  - name: start
    call_type: api
    params:
      endpoint: GET /things/{id}
    next: which
  - name: which
    call_type: choice
    params:
      instruction: Is there anything?
      choices:
        - step: explain
          description: There is something.
          when: data.total > 0
        - step: end
          description: There is nothing.
  - name: explain
    call_type: llm
    params:
      user_prompt: "Explain {data} for {question}."
    next: end
  - name: end
    call_type: none
next_flow: []
"""
SAMPLE = {"plugin.json": METADATA, "openapi.yaml": OPENAPI, "flows/look_up.yaml": FLOW}


def load(
    files: Mapping[str, str | bytes] = SAMPLE,
    mode: Mode = "compat",
    *,
    id: str = "sample",
    limits: PluginLimits = LIMITS,
    operator: OperatorSettings = OPERATOR,
) -> LoadResult:
    content = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    return load_files(Path("/plugins") / id, content, mode, limits, operator)


def spoilt(file: str, old: str, new: str) -> dict[str, str]:
    assert old in SAMPLE[file], old
    return {**SAMPLE, file: SAMPLE[file].replace(old, new, 1)}


def codes(loaded: LoadResult) -> list[str]:
    return [one.code for one in loaded.diagnostics]


def one(loaded: LoadResult, code: str) -> Diagnostic:
    (found,) = [one for one in loaded.diagnostics if one.code == code]
    return found


def schema(text: str, version: str = "3.0.3") -> dict[str, str]:
    """The sample with another schema of the job's size; `text` is in the flow style of YAML."""
    document = OPENAPI.replace("3.0.3", version).replace(
        "                  type: integer\n                  description: How large.\n", f"                  {text}\n"
    )
    assert text in document
    return {**SAMPLE, "openapi.yaml": document}
