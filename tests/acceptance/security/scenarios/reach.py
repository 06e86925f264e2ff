"""What text from outside reaches beyond its place: the lines of the log, the entries in Redis, the time of the event loop."""

import json
import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fakes import call, refusal, say
from judging import SLACK, all_of, check, scenario, short
from stage import Server, Stage, run_input, unique, until

from scenarios.access import ui_chat
from scenarios.newer import MARK, ROOT, serve

FORGED = "2031-01-01 00:00:00,000 INFO rightseat.audit: FORGED the key 'root' was used"
BREAKS = ("\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")
TERMINAL = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202e"
INJECTION = TERMINAL + "".join(f"x{end}{FORGED}" for end in BREAKS)
MOST = 10_000  # objects and arrays in a body


def send_injections(stage: Stage, server: Server) -> list[int]:
    """The text as everything that a client, a model or a tool may name, on every face."""
    statuses: list[int] = []

    def send(method: str, path: str, body: Any = None, **more: Any) -> None:
        statuses.append(server.request(method, path, body, key=more.pop("key", "alice"), **more)[0])

    named = quote(INJECTION, safe="")
    said = stage.says(lambda asked: say("done") if asked.is_after_a_tool else call(INJECTION, {"to": INJECTION}))
    failing = stage.says(lambda _: refusal(500, INJECTION))
    chat = {"model": INJECTION, "messages": [{"role": "user", "content": INJECTION}]}
    for question in (INJECTION, f"{INJECTION} {said}", f"{INJECTION} {failing}"):
        send("POST", "/copilotkit/agent/banker/run", run_input(question))
        send("POST", "/v1/chat/completions", {**chat, "model": "banker", "messages": [{"role": "user", "content": question}]})
        send("POST", "/v1/responses", {"model": "banker", "input": question})
        send("POST", "/openbb/v1/query/plain", {"messages": [{"role": "human", "content": question}]})
        send("POST", "/api/chat", {**ui_chat(unique()), "messages": [{"id": INJECTION, "role": "user", "parts": [{"type": "text", "text": question}]}]})
    send("POST", "/copilotkit/agent/plain/run", run_input("hi", INJECTION))
    send("POST", f"/copilotkit/agent/{named}/run", run_input("hi"))
    send("POST", "/copilotkit", {"query": "{a}", "operationName": INJECTION})
    send("POST", "/v1/chat/completions", chat)
    send("POST", "/v1/responses", {"model": INJECTION, "input": "hi", "previous_response_id": INJECTION})
    send("POST", "/v1/conversations", {"metadata": {INJECTION: INJECTION}})
    send("POST", f"/openbb/v1/query/{named}", {"messages": [{"role": "human", "content": "hi"}]})
    send("POST", "/api/chat", {**ui_chat(INJECTION)})
    send("GET", f"/api/chat/{named}")
    tool = {"jsonrpc": "2.0", "id": INJECTION, "method": "tools/call", "params": {"name": INJECTION, "arguments": {INJECTION: INJECTION}}}
    send("POST", "/mcp", tool, headers={"accept": "application/json, text/event-stream"})
    for path in ("agents/{}/runs", "runs/{}/stop", "approvals/{}", "access/keys/{}/revoke", "plugins/{}/files/plugin.json"):
        send("POST", f"/operator/{path.format(named)}", {"text": INJECTION}, headers=MARK, key=ROOT)
    send("POST", "/operator/access/keys", {"name": INJECTION, "user": INJECTION, "scopes": [INJECTION]}, headers=MARK, key=ROOT)
    send("PATCH", "/operator/threads/x", {"name": INJECTION}, headers=MARK, key=ROOT)
    send("GET", f"/sign-in/callback?code={named}&state={named}&error={named}&error_description={named}")
    send("GET", f"/{named}?{named}", headers={"user-agent": "x\x1b[2J", "x-request-id": "x\x1b[2J", "referer": "\x9b2J"})
    send("GET", "/copilotkit/info", key=None, headers={"authorization": "Bearer \x1b[2J"})
    return statuses


@scenario("log-injection")
def log_injection(stage: Stage) -> None:
    """Line breaks of eight kinds and sequences for terminals in everything that clients, models and tools may name, on every face: each line of the log begins as the server writes it, and none has a control character; in JSON each line is an object."""
    for log_format in ("plain", "json"):
        with serve(stage, {"telemetry": {"log_format": log_format, "log_level": "debug"}}) as server:
            statuses = send_injections(stage, server)
            check(len(statuses) >= 30, "too little was sent")
            check(until(lambda: "FORGED" in server.logs(), 5 * SLACK), "the log names nothing of it, so nothing can be judged")
            raw = Path(server.log).read_bytes().decode("utf-8", "replace")
        wrong = [f"{log_format}: a status {status}" for status in set(statuses) if status >= 500 and status != 502]  # 502: the model failed
        for line in re.split("[\n\r\x0b\x0c\x85\u2028\u2029]", raw):
            if line.lstrip(" ").startswith("2031") and not line.startswith("    "):
                wrong.append(f"{log_format}: forged: {short(line, 100)}")
            if log_format == "json" and line.startswith("{") and not is_object(line):
                wrong.append(f"json: a line is no object: {short(line, 100)}")
        controls = set(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", raw))
        all_of([*wrong, *(f"{log_format}: the log has {control!r}" for control in controls)])


def is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


class Planted:
    """Code that unpickling would run: it makes a file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self._file,)


@scenario("entries-of-a-stranger-in-redis", alone=True)
def strange_entries(stage: Stage) -> None:
    """Whoever writes to Redis can spoil runs, and no more: pickles, broken JSON, entries of other types and of 8 MB under the keys of a run are never run as code; reading it ends within 10 s and never with a status above 503, /health stays at 250 ms (99th percentile), and another run is answered."""
    import redis

    planted = stage.folder / unique("planted")
    environment = {**stage._profile("fleet")}
    client = redis.Redis(port=stage.redis().port)
    with serve(stage, **environment) as server:
        wrong: list[str] = []
        pieces = [pickle.dumps(Planted(planted)), b"", b"null", b"[" * 100_000, b'{"type": "RunFinished"}', b"\xff\xfe", b"{" + b'"a":1,' * 1_000_000 + b'"a":1}']
        with server.watched():
            for piece in pieces:
                thread = unique()
                server.run("plain", f"hello {stage.says(lambda _: say('well'))}", thread, key="alice")
                for key in list(client.scan_iter(count=1000)):
                    if client.type(key) == b"stream":
                        replace_entry(client, key, piece)
                    elif client.type(key) == b"string":
                        client.set(key, piece[:1000], keepttl=True)
                for path in (f"/copilotkit/threads/{thread}/messages", f"/operator/threads/{thread}", f"/api/chat/{thread}"):
                    began = time.monotonic()
                    status = server.get(path, key=ROOT if path.startswith("/operator") else "alice", timeout=20)[0]
                    if status > 503 or time.monotonic() - began > 10 * SLACK:
                        wrong.append(f"GET {path} gave {status} after {time.monotonic() - began:.1f} s for {piece[:20]!r}")
                server.post("/copilotkit/agent/plain/connect", {**run_input("", thread), "messages": []}, key="alice")
        status, _, text = server.run("plain", f"hello {stage.says(lambda _: say('still well'))}", key="bob")
        check(status == 200 and "still well" in text, f"another run gave {status} {short(text[-200:])}")
        check(not planted.exists(), "an entry in Redis was run as code")
        all_of(wrong)


def replace_entry(client: Any, key: bytes, piece: bytes) -> None:
    """One in the middle, under its own id, and another one behind the last: a reader stops at the end of a run."""
    entries = client.xrange(key)
    together = client.pipeline()  # the server may write to the stream at the same time
    together.delete(key)
    for number, (id, fields) in enumerate(entries):
        together.xadd(key, dict.fromkeys(fields, piece) if number == len(entries) // 2 else fields, id=id)
    together.xadd(key, dict.fromkeys(entries[0][1] if entries else [b"e"], piece))
    together.execute()


@scenario("bodies-that-cost-more-than-they-weigh", alone=True)
def costly_bodies(stage: Stage) -> None:
    """Bodies of 15 MB that are 300,000 small objects are refused with 413 on every face that reads them, and so are those of 3,000,000 texts; of one key, four at once of 9,900 objects and 6 MB leave /health at 250 ms (99th percentile), and the user after them is answered."""
    with serve(stage) as server:
        message = {"role": "user", "content": "x"}
        many = [message] * 300_000
        part = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "x"}]}
        faces: dict[str, Any] = {
            "/copilotkit/agent/plain/run": run_input("", messages=[{**message, "id": "m"}] * 300_000), "/v1/chat/completions": {"model": "plain", "messages": many},
            "/v1/responses": {"model": "plain", "input": many}, "/api/chat": {"id": unique(), "messages": [part] * 100_000}, "/openbb/v1/query/plain": {"messages": [{"role": "human", "content": "x"}] * 300_000},
        }  # fmt: skip
        wrong = []
        with server.watched():
            for path, body in faces.items():
                status, _, text = server.post(path, body, key="alice", timeout=60)
                if status != 413 or "10,000" not in text:
                    wrong.append(f"{path} gave {status} {short(text[:200])}")
            texts = ["x"] * 3_000_000
            for path, body in {**faces, "/v1/feedback": {}}.items():
                status, _, text = server.post(path, {**body, "messages": [], "input": "x", "texts": texts}, key="alice", timeout=60)
                if status != 413 or "200,000" not in text:
                    wrong.append(f"{path} gave {status} {short(text[:200])} for many texts")
        all_of(wrong)
        large = json.dumps({"model": "plain", "messages": [{"role": "user", "content": "x" * 600}] * (MOST - 100)})
        with ThreadPoolExecutor(4) as pool, server.watched():
            sent = [pool.submit(server.post, "/v1/chat/completions", large, headers={"content-type": "application/json"}, key="alice", timeout=60) for _ in range(4)]
            statuses = [one.result()[0] for one in sent]
        check(200 in statuses and set(statuses) <= {200, 429}, f"the harmless case gave {statuses}")
        check(server.chat("plain", "hi", "bob")[0] == 200, "another user is not answered")
