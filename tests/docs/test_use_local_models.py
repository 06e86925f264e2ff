"""docs/how-to/use-local-models.md says what is so."""

import json
import re
from pathlib import Path

import pytest

from rightseat import config
from rightseat.cli.server import curl

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "use-local-models.md").read_text()


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_configuration_can_be_read(text: str) -> None:
    assert config.parse(text, environ={}).models["default"].type == "completion"


@pytest.mark.parametrize("backend", re.findall(r"\| `(backend: [^`]*)`", PAGE))
def test_every_backend_of_the_table_can_be_configured(backend: str) -> None:
    said = backend.replace("…", '"http://127.0.0.1:8080"')

    assert config.parse(f"models: {{default: {{type: completion, {said}}}}}", environ={}).models


def test_the_request_to_paste_is_the_one_that_is_printed() -> None:
    assert f"  {curl('http://127.0.0.1:8000')}\n" in PAGE


def test_the_request_with_a_tool_is_json() -> None:
    (body,) = re.findall(r"-d '(\{\n.*?\})'", PAGE, re.DOTALL)

    assert json.loads(body)["tools"][0]["function"]["name"] == "get_weather"
