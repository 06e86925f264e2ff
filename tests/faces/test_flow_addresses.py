"""Plugins for internal APIs: one entry of the operator allows a private address, and the server's log prints it."""

import re
from pathlib import Path

import pytest

from tests.faces.copilotkit.current.serving import asking, read, text_of, visiting
from tests.faces.plugged import WEATHER, plugged


async def test_R_3_9_the_operators_entry_suffices_for_a_private_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with plugged(tmp_path, monkeypatch, is_declared=False) as url, visiting(url) as client:
        answer = await client.post("/agent/default/run", json=asking(WEATHER))

    assert "°C" in text_of(read(answer.content))


async def test_R_3_9_a_blocked_request_logs_the_entry_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with plugged(tmp_path, monkeypatch, is_allowed=False) as url, visiting(url) as client:
        warning = next(line for line in caplog.messages if line.startswith("The plugin weather needs"))
        answer = await client.post("/agent/default/run", json=asking(WEATHER))
        document = (tmp_path / "plugins/weather/openapi.yaml").read_text()

    place = re.search(r"http://(127\.0\.0\.1:[0-9]+)", document)
    assert place is not None
    entry = f'`allow_private: {{weather: ["{place[1]}"]}}`'
    failure = next(line for line in caplog.messages if "egress_blocked" in line)
    assert entry in warning
    assert failure.endswith(f"To allow it, add to the toolbox in rightseat.yaml: {entry}.")
    assert "allow_private" not in answer.text, "the client receives no entry of the configuration"
