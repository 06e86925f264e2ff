"""The page on OpenAI's clients: what it writes runs, and what it says of fields and errors is so."""

import asyncio
import re
from pathlib import Path

import pytest

from rightseat import app, config
from rightseat.core.errors import (
    ContextTooLong,
    InsufficientScope,
    ModelBusy,
    ModelLoading,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
    RightseatError,
    SchemaNotSupported,
)
from rightseat.faces._shared.model_names import ModelNotFound
from rightseat.faces._shared.responses import JsonTooDeep, NotJson
from rightseat.faces.openai import errors, fields
from rightseat.faces.openai.decoder import KNOWN
from rightseat.faces.openai.errors import ErrorResponse
from rightseat.faces.openai.responses.conversation_store import ConversationNotFound
from rightseat.faces.openai.responses.item_references import ItemNotFound
from rightseat.faces.openai.responses.response_store import ResponseNotFound
from tests.conftest import Serve

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "openai-clients.md").read_text()
FIELDS = PAGE.split("## What is taken of a chat completion request")[1].split("\n## ")[0]
ERRORS = PAGE.split("## Errors")[1]


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_snippet_is_a_configuration_that_can_be_served(text: str) -> None:
    read = config.parse(text, environ={})

    paths = {getattr(route, "path", "") for route in app.build_router(app.assemble(read)).routes}
    assert "/v1/chat/completions" in paths


async def test_the_program_runs(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    read = config.parse("models: {default: {type: scripted, chunk_delay: 0}}", environ={})

    async with serve(app.build(read)) as url:
        await asyncio.to_thread(exec, block.replace("http://127.0.0.1:8000", url), {})

    whole, streamed = capsys.readouterr().out.split("\n", 1)
    assert whole == streamed
    assert whole.startswith("You said: “Hello”")


@pytest.mark.parametrize("name", sorted(KNOWN | fields.HARMLESS | fields.REFUSED.keys() | {"modalities"}))
def test_every_field_is_spoken_of(name: str) -> None:
    assert f"`{name}" in FIELDS


def test_no_field_is_spoken_of_that_means_nothing() -> None:
    rows = re.findall(r"^\| (`.*?) \|", FIELDS, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)", row)}

    assert named == KNOWN | fields.HARMLESS | fields.REFUSED.keys() | {"modalities"}


@pytest.mark.parametrize(
    "error",
    [
        ModelBusy(""),
        ModelLoading(""),
        ModelRefused("", 404),
        ModelRefusedKey(""),
        ModelUnreachable(""),
        InsufficientScope(""),
        ContextTooLong("", 400),
        SchemaNotSupported(""),
        ModelNotFound("x"),
        ResponseNotFound("x"),
        ConversationNotFound("x"),
        ItemNotFound("x"),
        NotJson(),
        JsonTooDeep(),
        errors.InvalidRequest("", code="unsupported_parameter"),
        errors.InvalidRequest(""),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_has_the_status_and_the_code_that_the_page_says(error: RightseatError) -> None:
    told = ErrorResponse.of(error)

    assert re.search(rf"^\| {told.status} \| .*`{told.code}`", ERRORS, re.MULTILINE)
