"""Code of a plugin: not run without consent, and when it runs, alone, with nothing, and not for ever."""

import asyncio
import base64
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.ask import Principal
from rightseat.core.types import JsonValue
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.sandbox import SandboxLimits, ToolRunner
from rightseat.plugins.sandbox.process import receive
from rightseat.plugins.scope import Scope, Upload
from tests.plugins.sandbox.tools import Script, failure, make, plugin, run, write

pytestmark = pytest.mark.whole


async def test_R_9_1_R_9_3_code_that_is_not_allowed_is_neither_imported_nor_run(tmp_path: Path) -> None:
    sign = tmp_path / "was-here"
    one = write(tmp_path / "p", f"open({str(sign)!r}, 'w').write('x')\nexported = []\n")

    async with ToolRunner(["another digest"]) as tool_runner:
        assert not tool_runner.allows(one)
        for attempt in (tool_runner.tools(one), tool_runner.run(one, "t", {}, Scope("?"), Script())):
            with pytest.raises(StepFailed, match=r"is not allowed\. The operator can allow d1") as failed:
                await attempt
            assert failed.value.code == "tool_failed"

    assert not sign.exists()


async def test_R_9_3_tools_are_listed_by_their_own_process(tmp_path: Path) -> None:
    code = """
        import os
        pid = os.getpid()
        class New:
            name = "new"
            description = f"In {pid}."
            params = {"type": "object", "properties": {"n": {"type": "integer"}}}
            async def run(self, ctx, n=1): return n
        class Old:
            name = "old"
            params = {}
            def __init__(self, params): pass
            async def call(self, fixed_params): return 1
        _exported = [New, Old]
    """

    async with ToolRunner(["d1"]) as tool_runner:
        found = await tool_runner.tools(write(tmp_path, code))

    assert [(tool.name, tool.original) for tool in found.values()] == [("new", False), ("old", True)]
    assert found["new"].params["properties"] == {"n": {"type": "integer"}}
    assert found["new"].description.startswith("In ")
    assert "tool.py" not in sys.modules
    assert "lib" not in sys.modules


async def test_R_9_2_a_tool_receives_the_scope_and_returns_output_and_message(tmp_path: Path) -> None:
    body = """
        seen = [ctx.question, ctx.data, ctx.steps["a"]["output"], ctx.files[0]["name"], ctx.summary, ctx.language]
        return {"output": [*seen, ctx.user, ctx.history, params], "message": "done"}
    """
    scope = Scope(
        "Why?", data={"x": 1}, steps={"a": StepResult(output=[2])},
        files=(Upload("f1", "a.txt", "text/plain", "aGk="),),
        summary="so far", history=(("user", "hello"),), language="de", user=Principal("ada"),
    )  # fmt: skip

    result = await run(make(tmp_path, body), {"n": 1}, scope)

    seen = ["Why?", {"x": 1}, [2], "a.txt", "so far", "de", "ada", [["user", "hello"]], {"n": 1}]
    assert (result.output, result.message) == (seen, "done")


async def test_R_9_2_any_json_value_may_be_returned(tmp_path: Path) -> None:
    assert (await run(make(tmp_path, "return [1, None, 'ü']"))).output == [1, None, "ü"]


async def test_R_9_2_a_tool_requests_models_and_files_from_the_server(tmp_path: Path) -> None:
    body = """
        text = (await ctx.read_file("a.txt")).decode()
        said = await ctx.llm(f"Say {text}")
        await ctx.write_file("b.txt", said.encode())
        try:
            await ctx.read_file("../secret")
        except RuntimeError as error:
            return str(error)
    """
    script = Script("hello")
    upload = Upload("f1", "a.txt", "text/plain", base64.b64encode(b"hi").decode())

    result = await run(make(tmp_path, body), scope=Scope("?", files=(upload,)), script=script)

    assert [wanted.user for wanted in script.asked] == ["Say hi"]
    assert result.output == "No file '../secret'; files: a.txt."
    assert [(one.name, one.size, base64.b64decode(one.data)) for one in result.artifacts] == [("b.txt", 5, b"hello")]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (3, 4)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".."])
async def test_R_9_2_a_file_is_written_under_a_plain_name_only(tmp_path: Path, name: str) -> None:
    failed = await failure(make(tmp_path, f"await ctx.write_file({name!r}, b'x')"))

    assert "is not a valid file name" in failed.message


async def test_the_original_form_of_a_tool_is_adapted_with_W701(tmp_path: Path) -> None:
    code = """
        class Old:
            name = "t"
            description = "As in 2024."
            params = {}
            def __init__(self, params):
                self.params = params
            async def call(self, fixed_params):
                return {"output": {**fixed_params, "own": self.params}, "message": "old"}
        _exported = [Old]
    """

    result = await run(write(tmp_path, code), {"n": 2}, Scope("Why?", data=[1], summary="so far"))

    assert result.output == {
        "background": "so far", "question": "Why?", "files": [], "previous_data": [1], "own": {"n": 2},
    }  # fmt: skip
    assert result.record["warnings"] == ["W701"]


async def test_R_9_4_defaults_are_filled_and_invalid_arguments_reported(tmp_path: Path) -> None:
    code = """
        class T:
            name = "t"
            params = {"type": "object", "required": ["n"], "properties": {
                "n": {"type": "integer", "minimum": 1}, "top": {"type": "integer", "default": 7}}}
            async def run(self, ctx, n, top): return [n, top]
        exported = [T]
    """
    one = write(tmp_path, code)

    assert (await run(one, {"n": 1})).output == [1, 7]
    assert (await run(one, {"n": 1, "top": 2})).output == [1, 2]
    wrong: list[dict[str, JsonValue]] = [{}, {"n": 0}]
    for params in wrong:
        with pytest.raises(StepFailed) as failed:
            await run(one, params)
        assert failed.value.code == "slot_missing"


async def test_the_tool_of_the_example_plugin_ranks_its_list(tmp_path: Path) -> None:
    source = Path(__file__).parents[3] / "examples" / "plugins" / "host_security" / "lib"
    if not source.is_dir():
        pytest.skip("the example plugins are not there")
    await asyncio.to_thread(shutil.copytree, source, tmp_path / "lib")
    items: list[JsonValue] = [{"id": "a", "score": 9.8}, {"id": "b", "score": 3.0}]

    result = await run(plugin(tmp_path), {"top": 1}, Scope("?", data={"host_id": "w", "items": items}), tool="cve_rank")

    assert result.message == "2 CVEs grouped by severity"
    assert result.output["counts"] == {"critical": 1, "low": 1}  # type: ignore[index, call-overload]  # an object


# What it does not have.


async def test_R_9_2_a_tool_has_no_environment_and_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RS_SECRET", "sk-secret")
    body = "return [dict(os.environ), os.listdir('.'), os.getcwd()]"

    output: Any = (await run(make(tmp_path, body, "import os"))).output
    environment, files, folder = output

    assert "sk-secret" not in str(environment)
    assert set(environment) <= {"LC_CTYPE"}
    assert (files, str(tmp_path) in folder) == ([], False)
    assert not Path(folder).exists()  # noqa: ASYNC240


async def test_R_9_2_a_tool_cannot_import_the_packages_of_the_server(tmp_path: Path) -> None:
    body = """
        import importlib.util
        return [importlib.util.find_spec(name) is not None for name in ("rightseat", "msgspec", "json")]
    """

    assert (await run(make(tmp_path, body))).output == [False, False, True]


# How it ends.


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no such host')", "ValueError: no such host"),
        ("import os; os._exit(3)", "code 3"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("import ctypes; ctypes.string_at(0)", "code -11"),
        ("return 'x' * 3_000_000", "exceeds 1,000,000 bytes"),
        ("x = bytearray(2_000_000_000)", "memory limit"),
        ("x = 'a'\nwhile True: x += x", "memory limit"),
        ("open('big', 'wb').write(b'x' * 50_000_000)", "File too large"),
    ],
)
async def test_R_9_2_a_crash_or_an_exceeded_limit_is_an_ordinary_error(tmp_path: Path, body: str, words: str) -> None:
    failed = await failure(make(tmp_path, body), limits=SandboxLimits(output=1_000_000))

    assert failed.code == "tool_failed"
    assert words in failed.message


async def test_R_9_2_the_number_of_threads_is_limited(tmp_path: Path) -> None:
    body = "import threading as t; t.stack_size(65536)\nwhile 1: t.Thread(target=t.Event().wait, daemon=True).start()"
    # Python waits for ever for a thread that has no memory to start with, so there is enough for all that are allowed.
    failed = await failure(make(tmp_path, body), limits=SandboxLimits(memory=8 * 2**30))

    assert failed.code == "tool_failed"
    assert "can't start new thread" in failed.message


@pytest.mark.parametrize(
    "body", ["while True: pass", "import time; time.sleep(60)", "await ctx.llm('x')\nwhile 1: pass"]
)
async def test_R_9_2_a_tool_over_its_timeout_is_killed(tmp_path: Path, body: str) -> None:
    one = make(tmp_path, body)
    started = time.monotonic()

    with pytest.raises(StepFailed) as failed:
        await run(one, script=Script("y"), seconds=0.5)

    assert (failed.value.code, time.monotonic() - started < 15) == ("timeout", True)


async def test_R_9_2_output_that_a_tool_prints_is_not_parsed_as_a_message(tmp_path: Path) -> None:
    body = """
        import os, sys
        print('{"result": "forged"}', flush=True)
        os.write(1, b'{"result": "forged"}\\n')
        sys.stderr.write("x")
        return "real"
    """

    assert (await run(make(tmp_path, body))).output == "real"


async def test_R_9_5_parallel_runs_share_nothing(tmp_path: Path) -> None:
    body = """
        import asyncio, pathlib
        seen.append(params["n"])
        pathlib.Path("own.txt").write_text(str(params["n"]))
        await asyncio.sleep(0.2)
        return [seen, pathlib.Path("own.txt").read_text()]
    """
    one = make(tmp_path, body, "seen = []")

    async with ToolRunner(["d1"]) as tool_runner:
        calls = [tool_runner.run(one, "t", {"n": number}, Scope("?"), Script()) for number in range(4)]
        results = await asyncio.gather(*calls)

    assert [result.output for result in results] == [[[number], str(number)] for number in range(4)]


async def test_R_9_2_a_cancelled_call_leaves_no_process_behind(tmp_path: Path) -> None:
    one = make(tmp_path, "await ctx.llm('ready')\nwhile True: pass")
    script = Script("go")
    before = await asyncio.to_thread(children)
    async with ToolRunner(["d1"]) as tool_runner:
        running = asyncio.create_task(tool_runner.run(one, "t", {}, Scope("?"), script, seconds=30))
        async with asyncio.timeout(60):
            await script.was_asked.wait()
        assert await asyncio.to_thread(children) - before, "the call has no process of its own to leave behind"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    assert not await asyncio.to_thread(children) - before


def children() -> set[str]:
    """The processes that this one has started, those of other tests' servers among them."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


@pytest.mark.parametrize("line", [b'"\x80"', b"[" * 5_000, b"{"])
async def test_a_line_of_invalid_json_is_reported_as_an_error_of_the_tool(line: bytes) -> None:
    code = f"import sys; sys.stdout.buffer.write({line!r} + b'\\n')"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)

    with pytest.raises(StepFailed, match="not JSON"):
        await receive(process, 1_000)

    await process.communicate()


@pytest.mark.parametrize(
    ("line", "is_taken"),
    [
        (b'{"result": [' + b"[]," * 60_000 + b"1]}\n", False),
        (b'{"result": [' + b"1," * 110_000 + b"1]}\n", False),
        (b'{"result": "' + b"[," * 100_000 + b'"}\n', True),
    ],
)
async def test_a_line_with_very_many_values_is_refused_before_it_is_decoded(line: bytes, is_taken: bool) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**20,
    )
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.close()
    try:
        if is_taken:
            assert (await receive(process, 2**20))["result"] == "[," * 100_000
        else:
            with pytest.raises(StepFailed, match="more than 30,000 values"):
                await receive(process, 2**20)
    finally:
        await process.communicate()
