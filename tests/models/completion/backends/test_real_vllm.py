"""The real vLLM, on a CPU, with a real model. `just vllm` installs it and runs this; elsewhere it is skipped."""

import asyncio
import faulthandler
import json
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.concurrency import aclosing
from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Prompt, StopChunk
from rightseat.core.tools import Tool
from rightseat.models.completion.backend import CompletionRequest
from rightseat.models.completion.backends import Vllm
from rightseat.models.completion.backends.options import VllmOptions
from rightseat.models.completion.grammar import validation
from rightseat.models.completion.model import Completion
from tests.conditions import wait_until
from tests.models.completion.backends.test_real_llama_cpp import STORY, parts
from tests.models.completion.playing import calls_of, joined
from tests.servers.installing import find_vllm, run
from tests.servers.running import PROGRAMS

pytestmark = pytest.mark.servers
__all__ = ["parts"]

START = 900.0  # seconds, on a busy machine
ANSWER = 240.0
SERVED = "smollm2"
TOOLS = (
    Tool(
        "get_weather",
        "The weather of a place.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 20},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
        },
    ),
    Tool(
        "send_note",
        "Send a note.",
        {
            "type": "object",
            "properties": {
                "text": {"type": "string", "maxLength": 30},
                "copies": {"type": "integer", "minimum": 1, "maximum": 9},
            },
            "required": ["text", "copies"],
        },
    ),
)
"""Bounded, so that no call is cut at the limit of tokens."""
QUESTION = "What is the weather in Paris, in celsius?"
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "people": {"type": "integer", "minimum": 0}},
    "required": ["city", "people"],
}


@pytest.fixture(scope="module")
def options(parts: Any) -> Iterator[VllmOptions]:
    python = find_vllm()
    faulthandler.cancel_dump_traceback_later()  # it would end the test after five minutes
    model = python.parent.parent / "models" / SERVED
    if not model.exists():
        new = model.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        run([python, PROGRAMS / "convert_gguf.py", parts.model("smollm2"), new])
        new.rename(model)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="vllm-") as folder:  # it leaves sockets and compiled code there
        yield from serve(python, model, port, Path(folder))


def serve(python: Path, model: Path, port: int, folder: Path) -> Iterator[VllmOptions]:
    url = f"http://127.0.0.1:{port}"
    command: list[str | Path] = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
    command += ["--served-model-name", SERVED, "--host", "127.0.0.1", "--port", str(port), "--max-model-len", "4096"]
    command += ["--max-num-seqs", "4", "--enforce-eager"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "HF_HUB_OFFLINE": "1"}
    environ |= {"VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    environ |= {
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }  # two on busy cores: 0.2 tokens/s
    log = folder / "vllm.log"
    with (
        log.open("w") as said,
        subprocess.Popen(command, env=environ, cwd=folder, stdout=said, stderr=said, start_new_session=True) as process,
    ):
        try:
            wait_for(url, process, log)
            yield VllmOptions(type="vllm", url=url, model=SERVED, tokenizer=model, timeout=ANSWER)
        finally:
            os.killpg(process.pid, 15)  # its backend is a process of its own
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def is_healthy() -> bool:
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()  # noqa: S310  # loopback
        except (OSError, urllib.error.URLError):
            return False
        return True

    wait_until(is_healthy, START)


async def ask(options: VllmOptions, *tools: Tool, **asked: Any) -> list[Chunk]:
    prompt = Prompt((user(QUESTION),), tools, Parameters(temperature=0.0, max_tokens=100, **asked))
    async with asyncio.timeout(ANSWER), Completion(Vllm(options)) as model:
        return [chunk async for chunk in model.stream(prompt)]


def check_calls(chunks: list[Chunk]) -> list[str]:
    """The names of the calls, whose arguments fit."""
    schemas = {tool.name: tool.parameters for tool in TOOLS}
    calls = calls_of(chunks)
    for name, arguments in calls:
        assert validation.compile_schema(dict(schemas[name]))(json.loads(arguments)) is None, arguments
    return [name for name, _ in calls]


async def test_a_required_call_is_made_and_fits(options: VllmOptions) -> None:
    chunks = await ask(options, *TOOLS, tool_choice="required", parallel_calls=False)

    assert len(check_calls(chunks)) == 1
    assert StopChunk("tool_calls") in chunks


async def test_a_named_tool_is_called(options: VllmOptions) -> None:
    chunks = await ask(options, *TOOLS, tool_choice=NamedTool("send_note"))

    assert check_calls(chunks) == ["send_note"]


async def test_a_call_that_the_model_chooses_to_make_names_a_tool_that_was_offered(options: VllmOptions) -> None:
    chunks = await ask(options, *TOOLS)

    assert check_calls(chunks) or joined(chunks)
    assert "<tool_call>" not in joined(chunks)


async def test_an_answer_fits_its_schema(options: VllmOptions) -> None:
    chunks = await ask(options, response_schema=CITY)

    assert validation.compile_schema(CITY)(json.loads(joined(chunks))) is None


async def test_a_prompt_is_counted_and_the_model_described(options: VllmOptions) -> None:
    async with Vllm(options) as backend:
        described = await backend.describe()
        count = await backend.count("Hello there")

    assert (described.context_window, described.bos) == (4096, "<|im_start|>")
    assert "im_start" in described.template
    assert count == 2


async def test_a_client_that_leaves_frees_the_server_within_two_seconds(options: VllmOptions) -> None:
    async with asyncio.timeout(ANSWER), Vllm(options) as backend:
        async with aclosing(backend.generate(CompletionRequest(prompt=STORY, max_tokens=3000))) as pieces:
            await anext(pieces)
            assert await asyncio.to_thread(count_running, options.url) == 1
        async with asyncio.timeout(2):
            while await asyncio.to_thread(count_running, options.url):
                pass


def count_running(url: str) -> int:
    """How many requests vLLM works on."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as response:  # noqa: S310  # loopback
        lines = response.read().decode().splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:num_requests_running")))
