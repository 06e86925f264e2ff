"""A project as a user has it: a folder with `rightseat.yaml`, tools, a plugin and `evals/`; its server and its command line."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from fakes import Fakes

from tests.acceptance._lib.processes import free_port
from tests.acceptance._lib.scenarios import until

SHOP = '''
"""The shop's tools. Every call is counted by the suite's server."""

import json
import os
import urllib.request

from rightseat.toolboxes.functions import tool


def call(name, **body):
    request = urllib.request.Request(f"{os.environ['RS_SHOP']}/{name}", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


@tool(effect="read")
def get_order(id: int, note: str = "") -> dict:
    """Look up an order."""
    return call("get_order", id=id, note=note)


@tool(effect="write", approval="Refund this order?")
def refund(id: int) -> dict:
    """Refund an order."""
    return call("refund", id=id)


@tool(effect="write")
def send_mail(to: str, text: str) -> dict:
    """Send a mail."""
    return call("send_mail", to=to, text=text)


@tool(effect="unknown")
def reindex(id: int) -> dict:
    """Do something whose effect is not declared."""
    return call("reindex", id=id)


tools = [get_order, refund, send_mail, reindex]
'''
PLUGIN = {"id": "stock", "name": "Stock", "description": "How many pieces of an article are in stock.", "version": "1.0.0", "predefined_question": "How many of article 5 are there?", "automatic_flow": True}
OPENAPI = """
openapi: 3.1.0
info: {title: Stock, version: 1.0.0}
servers: [{url: "URL/shop"}]
paths:
  /stock:
    get:
      operationId: stock
      description: How many pieces of an article are in stock.
      parameters:
        - {name: article, in: query, required: true, description: The article's number., schema: {type: string}}
      responses:
        '200':
          description: The stock.
          content: {application/json: {schema: {type: object}}}
"""


class Plain(yaml.SafeDumper):
    """Without aliases, which datasets may not have."""

    def ignore_aliases(self, data: object) -> bool:
        return True


@dataclass
class Done:
    """What a command came to. `peak_mb` is the largest memory of its process."""

    code: int
    out: str
    err: str
    seconds: float
    peak_mb: float = 0.0

    @property
    def json(self) -> dict:
        return json.loads(self.out)

    def __str__(self) -> str:
        return f"exit {self.code}: {(self.err or self.out).strip()[-300:]}"


@dataclass
class Project:
    folder: Path
    program: list[str]
    fakes: Fakes
    more: dict = field(default_factory=dict)
    server: subprocess.Popen | None = None
    port: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "evals").mkdir()
        (self.folder / "shop.py").write_text(SHOP)
        plugin = self.folder / "plugins" / "stock"
        plugin.mkdir(parents=True)
        address = self.fakes.url.removeprefix("http://")
        (plugin / "plugin.json").write_text(json.dumps(PLUGIN | {"network": {"allow_private": [address]}}))
        (plugin / "openapi.yaml").write_text(OPENAPI.replace("URL", self.fakes.url))
        self.configure()

    def configure(self, name: str = "rightseat.yaml", **changes: object) -> Path:
        """Writes a configuration; `changes` replace top-level keys."""
        address = self.fakes.url.removeprefix("http://")
        models = {name: {"type": "openai", "model": name, "base_url": f"{self.fakes.url}/v1", "api_key": "sk-fake", "max_tokens": 64} for name in ("a", "b", "judge")}
        whole = {
            "models": models,
            "toolboxes": {
                "tickets": {"type": "mcp", "url": f"{self.fakes.url}/mcp"},
                "stock": {"type": "plugins", "model": "a", "folders": ["plugins"], "allow_private": {"stock": [address]}},
            },
            "agents": {
                "default": {"type": "loop", "model": "a", "instructions": "You are the shop's copilot.", "tools": ["shop:tools"], "toolboxes": ["tickets", "stock"], "agents": ["expert"]},
                "expert": {"type": "loop", "model": "a", "description": "Knows orders.", "tools": ["shop:tools"]},
            },
            "faces": [
                {"type": "copilotkit", "path": "/copilotkit"},
                {"type": "openai", "path": "/v1"},
                {"type": "ai_sdk", "path": "/api/chat"},
                {"type": "openbb", "path": "/openbb"},
                {"type": "mcp", "path": "/mcp", "agents": ["default"]},
                {"type": "operator", "path": "/operator"},
            ],
            "access": {"keys": [{"name": user, "key": f"sk-{user}", "user": user, "scopes": ["*", "operator.watch:*", "operator.read:*", "operator.act:*", "operator.author:*"]} for user in ("alice", "bob", "olga")]},
            "prices": {name: {"input": 1000.0, "output": 2000.0} for name in models},
            "server": {"state_dir": str(self.folder / ".rightseat")},
        }
        path = self.folder / name
        path.write_text(yaml.safe_dump(whole | self.more | changes, sort_keys=False))
        return path

    @property
    def environment(self) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("RS_", "OPENAI_", "RIGHTSEAT_", "PYTHON"))}
        return clean | {"RS_SHOP": f"{self.fakes.url}/shop", "NO_COLOR": "1", "COLUMNS": "120", "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, *words: str) -> subprocess.Popen:
        """A command in the background, its output in files beside the project."""
        out, err = open(self.folder / "out.txt", "wb"), open(self.folder / "err.txt", "wb")
        return subprocess.Popen([*self.program, *words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)

    def cli(self, *words: str, timeout: float = 120) -> Done:
        """Runs a command to its end. Past `timeout` seconds it is killed, with exit code -9."""
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([*self.program, *words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            killer = threading.Timer(timeout, os.killpg, (process.pid, signal.SIGKILL))
            killer.start()
            _, status, used = os.wait4(process.pid, 0)
            killer.cancel()
            code = process.returncode = os.waitstatus_to_exitcode(status)
            texts = [read_all(file) for file in (out, err)]
        if code == -9:
            texts[1] += f"no end within {timeout:.0f} s"
        return Done(code, *texts, time.monotonic() - began, used.ru_maxrss / 1024)

    def dataset(self, name: str, cases: list[dict] | str, **head: object) -> Path:
        path = self.folder / "evals" / f"{name}.yaml"
        path.write_text(cases if isinstance(cases, str) else yaml.dump({"version": 1, **head, "cases": cases}, Dumper=Plain, sort_keys=False, allow_unicode=True))
        return path

    def read(self, name: str) -> dict:
        return yaml.safe_load((self.folder / "evals" / f"{name}.yaml").read_text())

    # the server

    def serve(self) -> None:
        self.port = free_port()
        log = open(self.folder.parent / f"{self.folder.name}-server.log", "ab")
        self.server = subprocess.Popen([*self.program, "serve", "--host", "127.0.0.1", "--port", str(self.port)], cwd=self.folder, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        until(lambda: self._is_answering(Path(log.name)), "the server to start", seconds=60)

    def _is_answering(self, log: Path) -> bool:
        if self.server.poll() is not None:
            raise RuntimeError(f"the server does not start: {log.read_text()[-400:]}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def stop(self) -> None:
        if self.server and self.server.poll() is None:
            os.killpg(self.server.pid, signal.SIGTERM)
            try:
                self.server.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.server.pid, signal.SIGKILL)
                self.server.wait()
        self.server = None

    def request(self, path: str, body: object = None, *, user: str = "alice", method: str | None = None, headers: dict | None = None) -> tuple[int, str]:
        data = None if body is None else json.dumps(body).encode()
        head = {"authorization": f"Bearer sk-{user}", "content-type": "application/json", "accept": "application/json, text/event-stream", "x-rightseat": "1", **(headers or {})}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, head, method=method or ("POST" if data else "GET"))
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    # asks, one function a face; each returns the id of the run as the operator sees it

    def ask(self, text: str, *, user: str = "alice", thread: str | None = None, agent: str = "default", parts: list | None = None) -> tuple[str, str]:
        """Through the console's API, and waits for the end: (thread, run)."""
        body: dict = {"text": text} | ({"thread": thread} if thread else {}) | ({"parts": parts} if parts else {})
        status, answer = self.request(f"/operator/agents/{agent}/runs", body, user=user)
        if status != 202:
            raise RuntimeError(f"the run was not started: {status} {answer[:200]}")
        told = json.loads(answer)
        self.wait(told["run"], user)
        return told["thread"], told["run"]

    def wait(self, run: str, user: str = "alice") -> dict:
        def read_ended() -> dict | None:
            status, answer = self.request(f"/operator/runs/{run}", user=user)
            record = json.loads(answer) if status == 200 else {}
            return record if record.get("outcome") not in (None, "running") else None

        return until(read_ended, f"run {run} to end", seconds=60)

    def latest_run(self, face: str | None = None, user: str = "alice") -> str | None:
        status, answer = self.request("/operator/runs?limit=20", user=user)
        runs = json.loads(answer).get("runs", []) if status == 200 else []
        return next((run["id"] for run in runs if face is None or run.get("through") == face), None)

    def answer(self, *, payload: object = True, status: str = "resolved", user: str = "alice") -> str:
        """Answers the open question through the operator's API, and waits for the end of the run that continues; its id."""
        def list_questions() -> list[dict]:
            code, answer = self.request("/operator/approvals", user=user)
            return json.loads(answer) if code == 200 else []

        questions = until(list_questions, "a question that waits for an answer", seconds=30)
        code, answer = self.request(f"/operator/approvals/{questions[0]['id']}", {"status": status, "payload": payload}, user=user)
        if code != 202:
            raise RuntimeError(f"the answer was refused: {code} {answer[:200]}")
        run = json.loads(answer)["run"]
        self.wait(run, user=user)
        return run

    def agui(self, text: str, *, tools: list | None = None, messages: list | None = None, thread: str | None = None, user: str = "alice") -> str:
        body = {
            "threadId": thread or f"thread-{uuid.uuid4().hex[:8]}",
            "runId": f"run-{uuid.uuid4().hex[:8]}",
            "state": {},
            "messages": messages or [{"id": uuid.uuid4().hex, "role": "user", "content": text}],
            "tools": tools or [],
            "context": [],
            "forwardedProps": {},
        }
        status, answer = self.request("/copilotkit/agent/default/run", body, user=user)
        if status != 200:
            raise RuntimeError(f"AG-UI: {status} {answer[:200]}")
        return answer


def events_of(stream: str) -> list[dict]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]


def read_all(file) -> str:  # noqa: ANN001
    file.seek(0)
    return file.read().decode(errors="replace")
