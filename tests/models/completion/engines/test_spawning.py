"""An engine of our own: started, watched, started again, ended. The program is a stand-in (`stand_in.py`)."""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from rightseat.core.errors import ConfigError, ModelLoading
from rightseat.models.completion.engine import End, Request
from rightseat.models.completion.engines import Spawned, binaries, spawning
from rightseat.models.completion.engines.options import LlamaCppOptions, SessionOptions
from tests.models.completion.test_gguf import WHOLE, head

STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture
def options(tmp_path: Path) -> LlamaCppOptions:
    model, binary = tmp_path / "m.gguf", tmp_path / "llama-server"
    model.write_bytes(head(WHOLE))
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    binary.chmod(0o755)
    return LlamaCppOptions(model=model, binary=binary, threads=1, sessions=SessionOptions(folder=tmp_path / "sessions"))


def spawned(options: LlamaCppOptions) -> Spawned:
    assert options.model is not None
    return Spawned(options, options.model)


async def say(engine: Spawned, prompt: str) -> End:
    *_, end = [piece async for piece in engine.generate(Request(prompt=prompt))]
    assert isinstance(end, End)
    return end


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not happened():  # noqa: ASYNC110 (another process, which tells nobody)
            await asyncio.sleep(0.01)


def command_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


async def test_it_is_started_with_what_the_options_say_and_ended_when_we_end(options: LlamaCppOptions) -> None:
    async with asyncio.timeout(20), spawned(options) as engine:
        await engine.wait()
        await say(engine, "Hi")
        pid = engine.pid
        assert pid is not None
        line = command_of(pid)

    for pair in (("-m", str(options.model)), ("--host", "127.0.0.1"), ("-t", "1"), ("-c", "16384"), ("-np", "2")):
        assert pair[1] == line[line.index(pair[0]) + 1]
    assert {"--jinja", "--props", "--slots"} <= set(line)
    assert not is_running(pid)


async def test_while_it_loads_requests_are_told_how_far_it_is(options: LlamaCppOptions, tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    async with asyncio.timeout(20), spawned(options) as engine:
        with pytest.raises(ModelLoading, match=r"m\.gguf .* is being loaded: 0 s so far"):
            await engine.describe()
        with pytest.raises(ModelLoading):
            await say(engine, "Hi")
        (tmp_path / "slow").unlink()
        await engine.wait()

        assert (await engine.describe()).model == "stand-in"


async def test_when_it_dies_it_is_started_again_and_that_is_said(
    options: LlamaCppOptions, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(20), spawned(options) as engine:
        await engine.wait()
        first = engine.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: not engine.ready.is_set())
        with pytest.raises(ModelLoading, match="was ended by SIGKILL, and is being started again"):
            await say(engine, "Hi")
        await engine.ready.wait()
        await say(engine, "Hi")

        assert engine.pid not in (None, first)
    assert "the stand-in begins" in caplog.text


async def test_one_that_dies_again_and_again_is_tried_again_ever_more_slowly(
    options: LlamaCppOptions, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawning, "PAUSES", (0.01, 0.02, 0.03))
    (tmp_path / "broken").touch()
    async with asyncio.timeout(20), spawned(options) as engine:
        with pytest.raises(ModelLoading, match="ended with code 3"):
            await engine.wait()
        await until(lambda: caplog.text.count("it is started again") >= 4)
        (tmp_path / "broken").unlink()
        await engine.ready.wait()
        await say(engine, "Hi")

    assert "it is broken" in caplog.text


PARENT = """
import asyncio, sys
from pathlib import Path
from rightseat.models.completion.engines import Spawned
from rightseat.models.completion.engines.options import LlamaCppOptions

async def main():
    options = LlamaCppOptions(model=sys.argv[1], binary=sys.argv[2], sessions={"number": 0})
    async with Spawned(options, options.model) as engine:
        await engine.wait()
        print(engine.pid, flush=True)
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


async def test_a_port_that_somebody_has_is_not_taken_for_ours(options: LlamaCppOptions) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = options.model_copy(update={"port": other.getsockname()[1]})
        with pytest.raises(ConfigError, match="in use"):
            async with spawned(taken):
                pass


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": Path("none.gguf")}, r"none\.gguf cannot be read"),
        ({"binary": Path("none")}, "none is no program that can be run"),
        ({"binary": STAND_IN}, "is no program that can be run"),
    ],
)
async def test_what_cannot_work_is_said_when_it_is_opened(
    options: LlamaCppOptions, change: dict[str, Path], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        async with spawned(options.model_copy(update=change)):
            pass


async def test_it_takes_the_key_and_nobody_sees_it_among_its_arguments(options: LlamaCppOptions) -> None:
    async with asyncio.timeout(20), spawned(options.model_copy(update={"api_key": SecretStr("sk-canary")})) as engine:
        await engine.wait()
        props = await engine._working().client.ask("/props")

    assert props["key"] == "sk-canary"
    assert "sk-canary" not in props["arguments"]


def test_what_is_said_of_an_engine_that_we_do_not_start_is_not_ignored() -> None:
    with pytest.raises(ValidationError, match="should not have slots, threads beside `url`"):
        LlamaCppOptions(url="http://127.0.0.1:1", threads=2, slots=3)


async def test_a_preview_starts_nothing(options: LlamaCppOptions) -> None:
    engine = spawned(options)
    described = await engine.preview()

    assert (described.model, described.context, described.template) == ("Small", 8192, "{{ messages }}")
    assert engine.pid is None


def test_without_a_program_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(metadata, "distributions", list)

    with pytest.raises(ConfigError, match=r"There is no llama-server here .* Install llama\.cpp"):
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
    program = tmp_path / "some_engine" / "bin" / "llama-server"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    about = tmp_path / "some_engine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-engine\nVersion: 1.0\n")
    (about / "RECORD").write_text("some_engine/bin/llama-server,,\n")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    assert binaries.find() == program
    assert os.access(program, os.X_OK)


@pytest.fixture(autouse=True)
def _every_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.mark.parametrize(
    ("argument", "option"), [("-np", "slots"), ("--parallel=4", "slots"), ("--host", "none"), ("-c", "context")]
)
def test_what_an_option_says_is_not_said_again_as_an_argument(argument: str, option: str) -> None:
    with pytest.raises(ValidationError, match=f"in `arguments`: the option for that is {option}"):
        LlamaCppOptions(model=Path("m.gguf"), arguments=("-ngl", "99", argument, "4"))
