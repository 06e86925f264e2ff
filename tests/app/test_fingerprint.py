"""The hash of a configuration that responses of OpenAI's API carry."""

import subprocess
import sys

import pytest

from rightseat import config
from rightseat.app import application, assemble
from rightseat.app.fingerprint import fingerprint_of
from tests.conftest import Serve
from tests.faces.openai.serving import chunks, post

ONE = "models: {default: {type: openai, model: gpt-4o, api_key: sk-1, base_url: 'http://localhost:1'}}"


def of(text: str) -> str:
    return fingerprint_of(config.parse(text, environ={}))


def test_it_is_the_same_in_every_process() -> None:
    program = (
        "from rightseat import config; from rightseat.app.fingerprint import fingerprint_of;"
        f"print(fingerprint_of(config.parse({ONE!r}, environ={{}})))"
    )

    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == of(ONE)


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        (ONE.replace("gpt-4o", "gpt-5"), False),
        (ONE + "\nagents: {default: {model: default, instructions: Be brief.}}", False),
        (ONE.replace("sk-1", "sk-2"), True),
        (ONE + "\nserver: {port: 8001}", True),
    ],
    ids=["another model", "another prompt", "another key", "another port"],
)
def test_it_changes_with_models_and_agents_alone(changed: str, is_same: bool) -> None:
    assert (of(changed) == of(ONE)) is is_same


async def test_responses_and_chunks_carry_it(serve: Serve) -> None:
    found = []
    for text in ("models: {default: {type: scripted}}", "models: {default: {type: scripted}, other: {type: scripted}}"):
        made = config.parse(text, environ={})
        async with serve(application(assemble(made), made.server)) as url:
            whole = (await post(url, model="default")).json()["system_fingerprint"]
            streamed = (await post(url, model="default", stream=True)).content
        assert {chunk["system_fingerprint"] for chunk in chunks(streamed)} == {whole}
        found.append(whole)

    assert found[0].startswith("fp_")
    assert found[0] != found[1]
