"""What a start costs: the packages of providers are imported by those who use them, and by nobody else."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    *("anthropic", "azure.core", "azure.identity", "botocore", "google.auth", "google.genai", "langchain"),
    *("langchain_core", "msal", "openai", "requests"),
)
MEASURE = """
import json, sys, time
before = time.process_time()
{code}
print(json.dumps([time.process_time() - before, sorted(sys.modules)]))
"""


def started(code: str) -> tuple[float, list[str]]:
    done = subprocess.run([sys.executable, "-c", MEASURE.format(code=code)], capture_output=True, text=True, check=True)
    seconds, modules = json.loads(done.stdout.splitlines()[-1])
    return seconds, modules


HELP = """
from click.testing import CliRunner
from rightseat.cli import main
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
"""


@pytest.mark.serial
@pytest.mark.parametrize("code", ["import rightseat", HELP], ids=["import", "help"])
def test_a_start_imports_no_provider_and_is_quick(code: str) -> None:
    found = [started(code) for _ in range(3)]

    assert min(seconds for seconds, _ in found) < 0.15
    assert not set(HEAVY) & set(found[0][1])


def test_reading_a_configuration_with_every_provider_imports_none_of_them() -> None:
    code = """
from rightseat import app, config
text = '''
models:
  claude: {type: anthropic, model: m, api_key: k-1234567}
  cloud: {type: anthropic, model: m, platform: vertex, region: global, project: p}
  signed: {type: anthropic, model: m, platform: bedrock, region: r, aws: {access_key_id: a, secret_access_key: b}}
  found: {type: anthropic, model: m, platform: bedrock, region: r, aws: {}}
  azure: {type: openai, model: m, base_url: "http://x", entra: {}}
  gemini: {type: google, model: m, api_key: k-1234567}
  default: {type: fallback, models: [claude, gemini]}
'''
app.assemble(config.parse(text))
"""
    _, modules = started(code)

    assert not set(HEAVY) & set(modules)


def test_a_server_imports_graphql_with_the_first_request_that_uses_it() -> None:
    code = """
import asyncio
import httpx2
from rightseat import app, config
built = app.build(config.parse('''
models: {default: {type: scripted}}
threads: {type: memory}
log: {type: memory}
faces: [{type: copilotkit}]
'''))
assert "graphql" not in sys.modules and "strawberry" not in sys.modules

async def ask():
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(built), base_url="http://127.0.0.1") as client:
        one, two = await asyncio.gather(*(client.post("/copilotkit", json={"query": "{hello}"}) for _ in range(2)))
        assert one.json() == two.json() == {"data": {"hello": "Hello World"}}

asyncio.run(ask())
"""
    _, modules = started(code)

    assert "strawberry" in modules
