"""The example plugins, loaded from their folders, against their own demo servers."""

import asyncio
import os
import socket
import sys
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Auth, Plugin
from rightseat.plugins.loading import load
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scope import Upload
from tests.conditions import is_listening, until
from tests.plugins.operations.examples import sender

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"


@asynccontextmanager
async def demo(name: str, **environ: str) -> AsyncIterator[Plugin]:
    """The plugin, with the address of a demo server that runs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLES / name / "demo" / "server.py"), env={**os.environ, **environ, "PORT": str(port)}
    )
    try:
        await until(lambda: is_listening(port), 30)
        loaded = load(EXAMPLES / name).plugin
        assert loaded is not None
        yield moved(loaded, port)
    finally:
        process.terminate()
        await process.wait()


def moved(plugin: Plugin, port: int) -> Plugin:
    """To a port that is free here."""
    old = plugin.server.split("/")[2]
    auth = tuple(
        Auth(one.type, {name: value.replace(old, f"127.0.0.1:{port}") for name, value in one.args.items()})
        for one in plugin.auth
    )
    return replace(plugin, server=plugin.server.replace(old, f"127.0.0.1:{port}"), auth=auth)


async def send(plugin: Plugin, name: str, arguments: dict[str, JsonValue], *files: Upload, **secrets: str) -> JsonValue:
    operation = plugin.operation(name)
    assert operation is not None
    sends = sender(None, None, **secrets)  # type: ignore[arg-type]  # names of secrets are no names of its own
    result = await sends.send(plugin, operation, arguments, {file.name: file for file in files})
    assert "warnings" not in result.record
    if result.artifacts:
        return {one.name: b64decode(one.data).decode() for one in result.artifacts}
    return result.output


async def test_the_weather_plugin_sends_its_key_in_the_query() -> None:
    async with demo("weather", WEATHER_KEY="weather-1") as plugin:
        found = await send(plugin, "current_weather", {"city": "杭州", "unit": "c"}, WEATHER_KEY="weather-1")
        with pytest.raises(StepFailed, match="401: bad key"):
            await send(plugin, "current_weather", {"city": "杭州"}, WEATHER_KEY="another")

    assert isinstance(found, dict)
    assert found["city"] == "杭州"


async def test_the_host_plugin_sends_its_key_in_a_header_and_a_json_body() -> None:
    async with demo("host_security", HOST_SECURITY_TOKEN="host-1") as plugin:
        secret = {"HOST_SECURITY_TOKEN": "host-1"}
        found = await send(plugin, "list_host_cves", {"host_id": "web-01", "min_score": 9}, **secret)
        scan = await send(plugin, "POST /scans", {"host_id": "db-01", "depth": "full"}, **secret)
        with pytest.raises(StepFailed, match=r"404 \(There is no such host\.\): no such host: nope-99"):
            await send(plugin, "list_host_cves", {"host_id": "nope-99"}, **secret)

    assert isinstance(found, dict)
    assert (found["host_id"], found["total"]) == ("web-01", 1)
    assert scan == {"task_id": "scan-db-01-1", "eta_seconds": 90}


async def test_the_file_plugin_sends_a_token_and_returns_files() -> None:
    async with demo("file_convert", FILE_CONVERT_SECRET="convert-1") as plugin:
        file = Upload("1", "a.csv", "text/csv", b64encode("名称,数量\n苹果,3\n".encode()).decode())
        secret = {"FILE_CONVERT_SECRET": "convert-1"}
        converted = await send(
            plugin, "convert_files", {"files": ["a.csv"], "target": "md", "header": True}, file, **secret
        )
        seen = await send(plugin, "inspect_file", {"file": "a.csv"}, file, **secret)

    assert converted == {"a.md": "| 名称 | 数量 |\n| --- | --- |\n| 苹果 | 3 |"}
    assert seen == {"name": "a.csv", "kind": "csv", "rows": 1, "columns": ["名称", "数量"]}
