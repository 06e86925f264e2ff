"""The findings of a configuration."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rightseat import config
from rightseat.app.diagnosis import diagnosed
from rightseat.health.checks import run_checks
from rightseat.health.finding import Finding
from tests.services import free_port

Diagnose = Callable[..., Awaitable[list[Finding]]]
"""`await diagnose("model", text)` are the findings of that check for this configuration."""


@pytest.fixture
def diagnose(tmp_path: Path) -> Diagnose:
    async def find(id: str, text: str, port: int | None = None, origin: str | None = None) -> list[Finding]:
        file = tmp_path / "rightseat.yaml"
        file.write_text(text)
        loaded = config.read(file, {"KEY": "canary-of-the-key"})
        async with diagnosed(loaded, file, port=port or free_port(), origin=origin) as context:
            return [finding async for finding in run_checks(context) if finding.id == id]

    return find
