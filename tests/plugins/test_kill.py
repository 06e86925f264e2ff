"""Flows whose server is killed after each of their steps, and in the middle of one (R-11.2, section 17, item 12)."""

import asyncio
import importlib.util
import shutil
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rightseat.agents.flows import Flows, Options
from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Custom, Event, RunFinished
from rightseat.core.messages import File, Message, Text
from rightseat.core.model import Chunk
from rightseat.core.runtime import Runtime
from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import EVERY_SECRET, PREFIX, SecretGrant, Secrets
from rightseat.egress.untrusted import UntrustedClient
from rightseat.engines.dbos import DbosEngine
from rightseat.engines.dbos.system import DbosSystem
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.plugins.collection import Collection
from rightseat.plugins.flows import Dependencies
from rightseat.plugins.loading import OperatorSettings, load
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.registry import PluginRegistry
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.sql.databases import Databases
from rightseat.plugins.testing.mocks import ScriptedModelCaller
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from rightseat.testing import ScriptedModel, check_order, says
from tests.conditions import until

EVERYWHERE = [SecretGrant(EVERY_SECRET)]

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples/plugins"
PORTS = {"host_security": 39181, "weather": 39182, "file_convert": 39183}
KEYS = {f"{PREFIX}{name}": "demo" for name in ("HOST_SECURITY_TOKEN", "WEATHER_KEY", "FILE_CONVERT_SECRET")}
LEASE = 1.0

SQL = "SELECT category AS region, SUM(price) AS amount FROM products GROUP BY category"
FLOWS: dict[str, dict[str, Any]] = {
    "host_security.list_host_cves": {"start": {"host_id": "web-01"}, "style": "report", "report": "Four."},
    "host_security.cve_detail": {"start": {"cve_id": "CVE-2024-3094"}, "end": "A backdoor."},
    "sales_insight.query_sales": {"start": {"sql": SQL, "explanation": "-"}, "end": "East."},
    "sales_insight.chart_sales": {
        "start": {"sql": SQL, "explanation": "-"},
        "draw": {"type": "bar", "x": "region", "y": ["amount"], "title": "-"},
        "conclude": "East.",
    },
    "weather.forecast": {"start": {"city": "Hangzhou", "days": 3}, "answer": "Rain."},
    "weather.current_weather": {"start": {"city": "Hangzhou"}, "answer": "Rain."},
    "file_convert.convert_document": {"start": {"files": ["a.csv"], "target": "md", "header": True}, "answer": "Done."},
    "file_convert.inspect_document": {"start": {"file": "a.csv"}, "end": "Two columns."},
}
STEPS = {
    "host_security.list_host_cves": ["start", "any_found", "rank", "style", "report", "end"],
    "host_security.cve_detail": ["start", "pick", "end"],
    "sales_insight.query_sales": ["start", "end"],
    "sales_insight.chart_sales": ["start", "has_rows", "draw", "conclude", "end"],
    "weather.forecast": ["start", "end"],
    "weather.current_weather": ["start", "end"],
    "file_convert.convert_document": ["start", "end"],
    "file_convert.inspect_document": ["start", "end"],
}
UNLIKE = ("host_security.list_host_cves", "sales_insight.chart_sales", "file_convert.convert_document")
"""Between them requests, branches, SQL, a chart and the plugin's own code. The other flows repeat parts of these."""
SCAN = "host_security.scan_host"
FLOWS[SCAN] = {"start": {"host_id": "db-01", "depth": "quick"}, "answer": "It is scanned.", "on_error": "Sorry."}


class Noting(ScriptedModelCaller):
    """Notes what it is asked in a file, so that another process can go on with the list."""

    def __init__(self, script: dict[str, Any], file: Path) -> None:
        super().__init__(script)
        self._file = file

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        self._note(wanted)
        return await super().call(wanted)

    async def stream(self, wanted: ModelRequest) -> AsyncIterator[Chunk]:
        self._note(wanted)
        async for chunk in super().stream(wanted):
            yield chunk

    def _note(self, wanted: ModelRequest) -> None:
        with self._file.open("a") as file:
            file.write(f"{wanted.name}\n")


class Halting:
    """An agent that stops for ever after so many steps of its flow."""

    description, durable = "", True

    def __init__(self, inner: Flows, steps: int | None) -> None:
        self._inner = inner
        self._steps = steps

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        done = 0
        async for event in self._inner.run(ask, steps):
            yield event
            done += is_output(event)
            if done == self._steps:
                await asyncio.Event().wait()


def is_output(event: Event) -> bool:
    is_step = isinstance(event, Custom) and event.name == "flow.step" and isinstance(event.value, dict)
    return is_step and event.value["event"] == "output"  # type: ignore[union-attr, index, call-overload]


@asynccontextmanager
async def serving(folder: Path, name: str, halt: int | None = None) -> AsyncIterator[Runtime]:
    """What a server is made of, on files in the folder."""
    plugin = load(folder / name.partition(".")[0]).plugin
    assert plugin is not None
    digest = plugin.lib or ""
    registry = PluginRegistry(
        [plugin.folder], folder / "state", operator=lambda id: OperatorSettings(lib=frozenset([digest]))
    )
    redactor, model_caller = Redactor(), Noting(FLOWS[name], folder / "asked")
    sender = OperationClient(
        UntrustedClient(),
        Secrets(KEYS, grants=EVERYWHERE),
        redactor,
        lambda plugin: plugin.allow_private,
    )
    databases, tool_runner = Databases(folder / "state"), ToolRunner([digest])
    dependencies = Dependencies(model_caller, sender, redactor, databases, tool_runner)
    collection = Collection(registry, lambda model: dependencies, (databases, tool_runner))
    options = Options(toolbox="-", flow=name, durable=True, suggestions=False)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(collection)
        log = await stack.enter_async_context(SqliteLog(folder / "rightseat.db"))
        threads = await stack.enter_async_context(SqlThreads(connect(folder / "rightseat.db", LEASE)))
        engine = DbosEngine(DbosSystem(folder / "steps.db"), max_attempts=3)
        agent = Halting(Flows(collection, ScriptedModel([says("-")]), options), halt)
        runtime = Runtime({"default": agent}, log=log, threads=threads, engine=engine)
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime


async def serve(folder: Path, name: str, halt: int, run_id: str, answered: str) -> None:
    """The process that is killed. It says which steps its followers have seen."""
    async with serving(folder, name, halt or None) as runtime:
        await runtime.start(ask(run_id, answered))
        async for batch in runtime.follow(run_id):
            for entry in batch:
                if is_output(entry.event):
                    sys.stdout.write("output\n")
            sys.stdout.flush()


def ask(run_id: str = "r", answered: str = "", payload: Any = True) -> Ask:
    file = File("document", "text/csv", "YSxiCjEsMgo=", name="a.csv")
    said = Message("user", (Text("What of web-01, CVE-2024-3094, db-01, Hangzhou 3, a.csv as md?"), file), id="u")
    answers = (Answer(answered, "resolved", payload),) if answered else ()
    return Ask(messages=(said,), run_id=run_id, thread_id="t", answers=answers)


@asynccontextmanager
async def process(*arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    program = "import asyncio, sys; from tests.plugins.test_kill import *; asyncio.run(serve(%s))"
    written = ", ".join(f"Path({str(one)!r})" if isinstance(one, Path) else repr(one) for one in arguments)
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program % written, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield running
    finally:
        if running.returncode is None:
            running.send_signal(signal.SIGKILL)
        await running.wait()


class Recorder:
    """The demo server of an example, which notes what it is asked and can be made to keep silent."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None]] = []
        self.silent = threading.Event()
        self.released = threading.Event()

    @contextmanager
    def serving(self, plugin: str) -> Iterator[int]:
        if plugin not in PORTS:
            yield 0
            return
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(plugin))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            self.released.set()
            server.shutdown()
            server.server_close()
            thread.join()

    def _handler(self, plugin: str) -> type[BaseHTTPRequestHandler]:
        spec = importlib.util.spec_from_file_location(f"demo_{plugin}", EXAMPLES / plugin / "demo/server.py")
        assert spec is not None
        assert spec.loader is not None
        demo = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(demo)
        recorder, handler = self, demo.Handler

        class Noted(handler):  # type: ignore[misc, valid-type]  # a class that was loaded by its file
            def parse_request(self) -> bool:
                good = bool(super().parse_request())
                if good and not self.path.startswith("/oauth"):
                    recorder.requests.append((f"{self.command} {self.path}", self.headers["Idempotency-Key"]))
                    if recorder.silent.is_set():
                        recorder.released.wait(30)
                return good

        return Noted


@contextmanager
def prepared(folder: Path, name: str) -> Iterator[Recorder]:
    """A copy of the example that names the port of a server of ours."""
    plugin, recorder = name.partition(".")[0], Recorder()
    shutil.copytree(EXAMPLES / plugin, folder / plugin)
    with recorder.serving(plugin) as port:
        for file in ("plugin.json", "openapi.yaml"):
            if port and (place := folder / plugin / file).exists():
                place.write_text(place.read_text().replace(f"127.0.0.1:{PORTS[plugin]}", f"127.0.0.1:{port}"))
        yield recorder


async def heard(runtime: Runtime, run_id: str = "r") -> list[Event]:
    return [entry.event async for batch in runtime.follow(run_id) for entry in batch]


def finish(events: list[Event]) -> dict[str, Any]:
    found = [event.value for event in events if isinstance(event, Custom) and event.name == "flow.finished"]
    assert len(found) == 1, events[-1]
    assert isinstance(found[0], dict)
    return found[0]


def choose_halts() -> Iterator[pytest.ParameterSet]:
    """Every step of every flow; in the gate the last one, after which there is most to resume, of unlike flows."""
    for name, steps in STEPS.items():
        for halt in range(1, len(steps) + 1):
            marks = () if halt == len(steps) and name in UNLIKE else pytest.mark.night
            yield pytest.param(name, halt, marks=marks, id=f"{name}-{halt}")


@pytest.mark.parametrize(("name", "halt"), list(choose_halts()))
async def test_R_11_2_section_17_12_a_flow_resumes_after_its_server_was_killed(
    tmp_path: Path, name: str, halt: int
) -> None:
    with prepared(tmp_path, name) as recorder:
        async with asyncio.timeout(100):
            async with process(tmp_path, name, halt, "r", "") as server:
                assert server.stdout is not None
                for _ in range(halt):
                    assert await server.stdout.readline() == b"output\n"
            before = list(recorder.requests)
            async with serving(tmp_path, name) as runtime:
                events = await heard(runtime)

    check_order(events)
    assert events[-1] == RunFinished("done")
    assert finish(events)["status"] == "succeeded"
    assert finish(events)["path"] == STEPS[name]
    done = [event.value["step"] for event in events if is_output(event)]  # type: ignore[union-attr, index, call-overload]
    assert done == STEPS[name]
    assert recorder.requests == before
    assert (tmp_path / "asked").read_text().split() == list(FLOWS[name])


@pytest.mark.parametrize("halt", [1, pytest.param(2, marks=pytest.mark.night)])  # after both the request was sent
async def test_R_11_2_section_17_12_an_approved_post_is_sent_once_though_its_server_was_killed(
    tmp_path: Path, halt: int
) -> None:
    with prepared(tmp_path, SCAN) as recorder:
        async with asyncio.timeout(100):
            async with serving(tmp_path, SCAN) as runtime:
                await runtime.start(ask("r1"))
                question = asked(await heard(runtime, "r1"))
            assert recorder.requests == []
            async with process(tmp_path, SCAN, halt, "r2", question) as server:
                assert server.stdout is not None
                for _ in range(halt):
                    assert await server.stdout.readline() == b"output\n"
            async with serving(tmp_path, SCAN) as runtime:
                events = await heard(runtime, "r2")

    check_order(events)
    assert finish(events)["status"] == "succeeded"
    assert finish(events)["path"] == ["start", "end"]
    assert [request for request, _ in recorder.requests] == ["POST /api/scans"]
    assert (tmp_path / "asked").read_text().split() == ["start", "answer"]


async def test_R_11_2_an_interrupted_read_only_request_is_sent_again(tmp_path: Path) -> None:
    name = "weather.forecast"
    with prepared(tmp_path, name) as recorder:
        async with asyncio.timeout(100):
            recorder.silent.set()
            async with process(tmp_path, name, 0, "r", ""):
                await until(lambda: recorder.requests)
            recorder.silent.clear()
            recorder.released.set()
            async with serving(tmp_path, name) as runtime:
                events = await heard(runtime)

    assert finish(events)["status"] == "succeeded"
    assert len(recorder.requests) == 2
    assert (tmp_path / "asked").read_text().split() == list(FLOWS[name])


@pytest.mark.parametrize(("payload", "requests"), [("repeat", 2), ("skip", 1), ("stop", 1)])
async def test_R_11_2_an_interrupted_post_is_sent_again_only_after_a_person_agrees(
    tmp_path: Path, payload: str, requests: int
) -> None:
    with prepared(tmp_path, SCAN) as recorder:
        async with asyncio.timeout(100):
            async with serving(tmp_path, SCAN) as runtime:
                await runtime.start(ask("r1"))
                question = asked(await heard(runtime, "r1"))
            recorder.silent.set()
            async with process(tmp_path, SCAN, 0, "r2", question):
                await until(lambda: recorder.requests)
            recorder.silent.clear()
            recorder.released.set()
            async with serving(tmp_path, SCAN) as runtime:
                events = await heard(runtime, "r2")
                sent = len(recorder.requests)
                doubt = asked(events, "outcome_unknown")
                await runtime.start(ask("r3", doubt, payload))
                last = await heard(runtime, "r3")

    assert sent == 1
    assert len(recorder.requests) == requests
    assert len({key for _, key in recorder.requests}) == 1
    assert recorder.requests[0][1] is not None
    status = {"repeat": "succeeded", "skip": "failed_handled", "stop": "cancelled"}
    assert finish(last)["status"] == status[payload]


def asked(events: list[Event], reason: str = "approval_required") -> str:
    check_order(events)
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome == "waiting"
    assert last.interrupts[0].reason == reason
    return last.interrupts[0].id
