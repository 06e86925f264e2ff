"""Every Python block of the how-to pages runs: a page is one program, from its first block to its last."""

import asyncio
import re
import shutil
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from tests.conftest import Serve

ROOT = Path(__file__).parent.parent.parent
PAGES = ["use-from-python.md"]

SIGNED_IN = {"session": "s"}
"""For the page's application with a sign-in of its own."""


def blocks(page: Path) -> list[tuple[int, str]]:
    """Each block with the number of its first line, so that a traceback leads to the page."""
    text = page.read_text()
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in found]


@pytest.mark.parametrize("name", PAGES)
async def test_every_block_runs_and_every_application_answers(
    name: str, serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = ROOT / "docs" / "how-to" / name
    shutil.copytree(ROOT / "examples" / "hello", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    names: dict[str, object] = {"__name__": "page"}

    for line, block in blocks(page):
        code = compile("\n" * line + block, str(page), "exec")
        await asyncio.to_thread(exec, code, names)
        if isinstance(app := names.pop("app", None), FastAPI):
            async with serve(app) as url, httpx2.AsyncClient(base_url=url, cookies=SIGNED_IN) as client:
                prefix = "/ai" if 'prefix="/ai"' in block else ""
                answer = await client.post(f"{prefix}/copilotkit", json={"query": "{ hello }"})
            assert answer.json() == {"data": {"hello": "Hello World"}}, f"{name}, block of line {line}: {answer.text}"
