"""A text that a durable run takes back, read by the real packages of AI SDK 6 and 7."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Event, MessagesReplaced, TextDelta, TextEnded, TextStarted
from tests.acceptance._lib.prepare import install_packages
from tests.clients import test_react_app as board
from tests.conftest import Serve
from tests.faces.ai_sdk.serving import BASE, app, build_runtime

HERE = Path(__file__).parent
SUITE = HERE.parent / "acceptance" / "ai-sdk"

pytestmark = pytest.mark.clients


class Restarted:
    """An agent whose answer begins again, as after a takeover by another server."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield TextStarted("a")
        yield TextDelta("a", "The first half")
        yield MessagesReplaced(ask.messages, ())
        yield TextStarted("b")
        yield TextDelta("b", "The whole answer.")
        yield TextEnded("b")


async def test_a_retracted_text_disappears_only_for_a_client_that_sends_the_header_of_version_7(serve: Serve) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    packages = await asyncio.to_thread(install_packages, SUITE)
    async with serve(app(build_runtime(Restarted()))) as url:
        command = ["node", HERE / "ai-sdk-versions.mjs", packages, url + BASE]
        seen = json.loads(await asyncio.to_thread(board.run, command, HERE))

    both = ["The first half", "The whole answer."]
    assert (seen["six"]["texts"], seen["seven"]["texts"]) == (both, both)
    assert seen["header"]["texts"] == ["The whole answer."]
    assert ["reset-step" in one["types"] for one in seen.values()] == [False, False, True]
