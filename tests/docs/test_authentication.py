"""The page on keys and tokens says what is true."""

import re
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from rightseat import app, config
from tests.conftest import Serve

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "authentication.md").read_text()
KEYS = {name: f"secret-of-{name}" for name in ("ALICE_KEY", "CI_KEY", "OPS_KEY")}


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_snippet_is_a_configuration_that_asks_for_keys(text: str) -> None:
    read = config.parse(text, environ=KEYS)

    assert app.build_authenticator(read.access)


@pytest.mark.parametrize("snippet", ["Make a key", "Send it"])
def test_what_is_shown_as_a_key_is_not_one_of_anybody(snippet: str) -> None:
    section = PAGE.split(f"\n## {snippet}\n")[1].split("\n## ")[0]

    assert "rs_5fJq0aXe_" in section
    assert all("5fJq0aXe" in line or "Zk81mPqT" in line for line in section.splitlines() if "rs_" in line)


async def test_the_application_of_the_page_asks_for_a_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_KEY", KEYS["ALICE_KEY"])
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {"__name__": "page"}
    exec(compile(block, "authentication.md", "exec"), names)  # noqa: S102  # that the page works is what is judged
    application = names["app"]
    assert isinstance(application, FastAPI)

    async with serve(application) as url, httpx2.AsyncClient(base_url=url) as client:
        hello = {"query": "{ hello }"}
        without = await client.post("/copilotkit", json=hello)
        with_it = await client.post("/copilotkit", json=hello, headers={"x-api-key": KEYS["ALICE_KEY"]})

    assert (without.status_code, with_it.status_code) == (401, 200)
