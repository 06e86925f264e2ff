"""A llama-server that rightseat starts, supervises, restarts and stops. The program is a stand-in (`stand_in.py`)."""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from rightseat.core.errors import ConfigError, ModelLoading
from rightseat.models.completion.backend import CompletionRequest, End
from rightseat.models.completion.backends import ServerProcess, binaries, process
from rightseat.models.completion.backends.options import LlamaCppOptions, PromptCacheOptions
from tests.conditions import until
from tests.models.completion.test_gguf import WHOLE, head

STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture
def options(tmp_path: Path) -> LlamaCppOptions:
    model, binary = tmp_path / "m.gguf", tmp_path / "llama-server"
    model.write_bytes(head(WHOLE))
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    binary.chmod(0o755)
    return LlamaCppOptions(
        model=model, binary=binary, threads=1, prompt_cache=PromptCacheOptions(folder=tmp_path / "prompt_cache")
    )


def server_process(options: LlamaCppOptions) -> ServerProcess:
    assert options.model is not None
    return ServerProcess(options, options.model)


async def say(backend: ServerProcess, prompt: str, key: str | None = None) -> End:
    *_, end = [piece async for piece in backend.generate(CompletionRequest(prompt=prompt, cache_key=key))]
    assert isinstance(end, End)
    return end


def command_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


async def test_the_backend_is_started_with_its_options_and_stopped_with_the_server(options: LlamaCppOptions) -> None:
    async with asyncio.timeout(20), server_process(options) as backend:
        await backend.wait()
        await say(backend, "Hi")
        pid = backend.pid
        assert pid is not None
        line = command_of(pid)

    pairs = {"-m": str(options.model), "--host": "127.0.0.1", "-t": "1", "-b": "512", "-c": "16384", "-np": "2"}
    for pair in pairs.items():
        assert pair[1] == line[line.index(pair[0]) + 1]
    assert {"--jinja", "--props", "--slots"} <= set(line)
    assert not is_running(pid)


@pytest.mark.parametrize(
    "arguments", [("-b", "2048"), ("--batch-size=2048",), ("-ub", "1024"), ("--ubatch-size", "1024")]
)
def test_a_batch_size_in_the_arguments_is_the_only_one(options: LlamaCppOptions, arguments: tuple[str, ...]) -> None:
    line = process.write_arguments(options.model_copy(update={"arguments": arguments}), Path("model.gguf"), 8080)

    assert "512" not in line
    assert line[-len(arguments) :] == list(arguments)


async def test_while_the_model_loads_requests_get_the_progress(options: LlamaCppOptions, tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    async with asyncio.timeout(20), server_process(options) as backend:
        with pytest.raises(ModelLoading, match=r"m\.gguf .* is being loaded: 0 s so far"):
            await backend.describe()
        with pytest.raises(ModelLoading):
            await say(backend, "Hi")
        (tmp_path / "slow").unlink()
        await backend.wait()

        assert (await backend.describe()).model == "stand-in"


async def test_a_process_that_dies_is_restarted_and_this_is_logged(
    options: LlamaCppOptions, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(20), server_process(options) as backend:
        await backend.wait()
        first = backend.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: not backend.ready.is_set())
        with pytest.raises(ModelLoading, match="was killed by SIGKILL and is being restarted"):
            await say(backend, "Hi")
        await backend.ready.wait()
        await say(backend, "Hi")

        assert backend.pid not in (None, first)
    assert "the stand-in begins" in caplog.text


async def test_one_that_dies_again_and_again_is_tried_again_ever_more_slowly(
    options: LlamaCppOptions, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "RESTART_DELAYS_S", (0.01, 0.02, 0.03))
    (tmp_path / "broken").touch()
    async with asyncio.timeout(20), server_process(options) as backend:
        with pytest.raises(ModelLoading, match="exited with code 3"):
            await backend.wait()
        await until(lambda: caplog.text.count("and is restarted") >= 4)
        (tmp_path / "broken").unlink()
        await backend.ready.wait()
        await say(backend, "Hi")

    assert "it is broken" in caplog.text


PARENT = """
import asyncio, sys
from pathlib import Path
from rightseat.models.completion.backends import ServerProcess
from rightseat.models.completion.backends.options import LlamaCppOptions

async def main():
    options = LlamaCppOptions(model=sys.argv[1], binary=sys.argv[2], prompt_cache={"max_files": 0})
    async with ServerProcess(options, options.model) as backend:
        await backend.wait()
        print(backend.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a program with its parent")
async def test_when_we_are_killed_it_is_ended_too(options: LlamaCppOptions) -> None:
    command = ("-c", PARENT, str(options.model), str(options.binary))
    parent = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert is_running(pid)
    parent.kill()
    await parent.wait()

    await until(lambda: not is_running(pid))


async def test_a_port_of_another_process_is_not_taken_for_ours(options: LlamaCppOptions) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = options.model_copy(update={"port": other.getsockname()[1]})
        with pytest.raises(ConfigError, match="in use"):
            async with server_process(taken):
                pass


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": Path("none.gguf")}, r"none\.gguf cannot be read"),
        ({"binary": Path("none")}, "none is not an executable file"),
        ({"binary": STAND_IN}, "is not an executable file"),
    ],
)
async def test_a_process_that_cannot_start_is_reported_when_it_is_opened(
    options: LlamaCppOptions, change: dict[str, Path], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        async with server_process(options.model_copy(update=change)):
            pass


async def test_the_process_gets_the_key_without_showing_it_in_its_arguments(options: LlamaCppOptions) -> None:
    async with (
        asyncio.timeout(20),
        server_process(options.model_copy(update={"api_key": SecretStr("sk-canary")})) as backend,
    ):
        await backend.wait()
        props = await backend._ready_server().client.fetch_json("/props")

    assert props["key"] == "sk-canary"
    assert "sk-canary" not in props["arguments"]


def test_process_options_without_a_process_are_refused() -> None:
    with pytest.raises(ValidationError, match="should not have slots, threads beside `url`"):
        LlamaCppOptions(url="http://127.0.0.1:1", threads=2, slots=3)


async def test_a_preview_starts_nothing(options: LlamaCppOptions) -> None:
    backend = server_process(options)
    described = await backend.preview()

    assert (described.model, described.context_window, described.template) == ("Small", 8192, "{{ messages }}")
    assert backend.pid is None


def test_a_missing_program_is_reported_with_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(metadata, "distributions", list)

    with pytest.raises(ConfigError, match=r"No llama-server found\. Install llama\.cpp"):
        binaries.find()


def test_the_program_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert binaries.find() == program


def test_the_program_of_an_installed_package_is_found_and_made_runnable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "some_backend" / "bin" / "llama-server"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    about = tmp_path / "some_backend-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-backend\nVersion: 1.0\n")
    (about / "RECORD").write_text("some_backend/bin/llama-server,,\n")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    assert binaries.find() == program
    assert os.access(program, os.X_OK)


@pytest.fixture(autouse=True)
def _every_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.mark.parametrize(
    ("argument", "option"), [("-np", "slots"), ("--parallel=4", "slots"), ("--host", "none"), ("-c", "context_window")]
)
def test_an_option_is_not_repeated_as_an_argument(argument: str, option: str) -> None:
    with pytest.raises(ValidationError, match=f"in `arguments`: the option for it is {option}"):
        LlamaCppOptions(model=Path("m.gguf"), arguments=("-ngl", "99", argument, "4"))


async def test_a_crash_loop_is_named_until_the_server_starts(
    options: LlamaCppOptions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As with a build for another processor."""
    monkeypatch.setattr(process, "RESTART_DELAYS_S", (0.01,))
    assert options.binary is not None
    working = options.binary.read_text()
    replace_program(options.binary, "#!/bin/sh\nkill -ILL $$\n")
    unneeded = server_process(options.model_copy(update={"ready": False}))
    async with asyncio.timeout(30), server_process(options) as backend, unneeded:
        early = backend.find_crash_loop()
        await until(lambda: backend.find_crash_loop() is not None)
        found, told = backend.find_crash_loop(), backend.status()
        await until(lambda: unneeded._exits > process.CRASH_LOOP_EXITS)
        ignored = unneeded.find_crash_loop()
        replace_program(options.binary, working)
        await backend.ready.wait()
        again = backend.find_crash_loop()

    assert (early, ignored, again) == (None, None, None)
    assert found is not None
    assert found.startswith("its server crashed ")
    assert told.startswith("The model m.gguf cannot be loaded: its server crashed ")
    assert found.endswith(f" times in a row and was killed by SIGILL: {process.ILLEGAL_INSTRUCTION}")
    assert f"m.gguf: {process.ILLEGAL_INSTRUCTION}" in caplog.messages


def replace_program(path: Path, text: str) -> None:
    """By another file: one that is being executed cannot be written."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o755)
    new.replace(path)
