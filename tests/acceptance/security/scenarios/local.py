"""A server without keys on the machine of a browser, slow connections to the newer faces, and how keys and tokens are told apart."""

import base64
import json
import socket
import threading
import time
from statistics import quantiles
from typing import Any

from fakes import call, say
from judging import SLACK, all_of, check, scenario, short
from stage import AUDIENCE, ISSUER, KEYS, READ, Server, Stage, events, is_closed, run_input, unique, until

from scenarios.access import keys, ui_chat
from scenarios.newer import AUTHOR, MARK, ROOT, Provider
from scenarios.newer import serve as serve_newer

_lock = threading.Lock()
MARGIN = 2.0  # seconds beyond the time that the server is told
WORD = "PRIVATE-WORD-OF-THIS-MACHINE"
EVIL = "http://evil.example"
READABLE = 30  # addresses at least that show something to the person of this machine, else the scenarios are blind


class Local:
    """A server without keys, with a thread, a file, a stored response, a conversation and a question that waits."""

    def __init__(self, stage: Stage, server: Server) -> None:
        self.stage, self.server, self.asked = stage, server, 0
        self.thread, self.waiting, self.payee = unique("own"), unique("own"), unique("p")
        self.tag = f"{WORD} {stage.says(self._answer)}"
        status, _, text = server.run("plain", self.tag, self.thread, key=None)
        check(status == 200 and WORD in text, f"the run of this machine ends ({status} {short(text)})")
        pay = stage.says(lambda asked: say("done") if asked.is_after_a_tool else call("pay", {"to": self.payee}))
        server.run("banker", f"{WORD} {pay}", self.waiting, key=None)
        self.approval = json.loads(server.get(f"/copilotkit/approvals?threadId={self.waiting}")[2])["approvals"][0]["id"]
        files = events(server.run("filer", f"{WORD} make a file", key=None)[2])
        self.file = next(one["value"]["url"] for one in files if one.get("name") == "artifact").rpartition("/")[2]
        self.response = json.loads(server.respond("plain", self.tag, key=None)[2])["id"]
        said = {"items": [{"role": "user", "content": WORD}]}
        self.conversation = json.loads(server.post("/v1/conversations", said)[2])["id"]
        self.run = json.loads(server.get("/operator/runs")[2])["runs"][0]["id"]
        self.before = self.asked

    def _answer(self, _: Any) -> Any:
        self.asked += 1
        return say(WORD)

    def pages(self) -> list[str]:
        """Every address that shows something."""
        kit, operator = "/copilotkit", "/operator"
        return [
            "/", "/health", "/ready", "/docs", "/openapi.json", "/metrics", "/usage", "/usage/limits", "/console", "/console/", f"{kit}/info", f"{kit}/threads", f"{kit}/threads/{self.thread}/messages",
            f"{kit}/threads/{self.thread}/state", f"{kit}/approvals", f"{kit}/files/{self.file}", "/v1/models", f"/v1/responses/{self.response}", f"/v1/responses/{self.response}?stream=true", f"/v1/responses/{self.response}/input_items",
            f"/v1/conversations/{self.conversation}", f"/v1/conversations/{self.conversation}/items", f"/v1/files/{self.file}", f"/v1/files/{self.file}/content", "/openbb/agents.json", f"/openbb/files/{self.file}",
            f"/api/chat/{self.thread}", f"/api/chat/{self.thread}/stream", f"/api/chat/files/{self.file}", "/mcp", "/sign-in/start", "/sign-in/callback?code=x&state=y",
            *(f"{operator}/{below}" for below in (
                "me", "agents", "threads", f"threads/{self.thread}", "runs", f"runs/{self.run}", f"runs/{self.run}/entries", f"files/{self.file}", "approvals?owner=*", "audit", "metrics", "usage", "usage/limits",
                "plugins", "plugins/probe", "plugins/probe/files/plugin.json", "flows", "flows/probe/probe", "snippets", "snippets/openai", "access", "setup", "health",
            )),
        ]  # fmt: skip

    def changes(self) -> dict[tuple[str, str], object]:
        """Every address that changes something, with a body that it would take from this machine."""
        run, decision = run_input(self.tag), {"status": "resolved", "payload": {"approved": True}}
        kit, operator = "/copilotkit", "/operator"
        rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {"to": "mallory"}}}
        return {
            ("POST", f"{kit}/agent/plain/run"): run, ("POST", f"{kit}/agui/plain"): run, ("POST", kit): {"method": "agent/run", "params": {"agentId": "plain"}, "body": run},
            ("POST", f"{kit}/threads/{self.thread}/archive"): "", ("POST", f"{kit}/threads/clear"): "", ("POST", f"{kit}/agent/plain/stop/{self.waiting}"): "",
            ("POST", f"{kit}/approvals/{self.approval}"): decision, ("DELETE", f"{kit}/threads/{self.thread}"): "", ("PATCH", f"{kit}/threads/{self.thread}"): {"name": "mallory"},
            ("POST", "/v1/chat/completions"): {"model": "plain", "messages": [{"role": "user", "content": self.tag}]}, ("POST", "/v1/responses"): {"model": "plain", "input": self.tag},
            ("POST", f"/v1/responses/{self.response}/cancel"): "", ("DELETE", f"/v1/responses/{self.response}"): "", ("POST", f"/v1/conversations/{self.conversation}"): {"metadata": {"m": "mallory"}},
            ("POST", "/v1/conversations"): {}, ("DELETE", f"/v1/conversations/{self.conversation}"): "", ("POST", f"/v1/conversations/{self.conversation}/items"): {"items": [{"role": "user", "content": "mallory"}]},
            ("POST", "/openbb/v1/query"): {"messages": [{"role": "human", "content": self.tag}]}, ("POST", "/openbb/v1/query/plain"): {"messages": [{"role": "human", "content": self.tag}]},
            ("POST", "/api/chat"): {**ui_chat(self.thread), "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": self.tag}]}]}, ("POST", f"/api/chat/{self.waiting}/stop"): "", ("POST", "/mcp"): rpc,
            ("POST", f"{operator}/agents/plain/runs"): {"text": self.tag}, ("POST", f"{operator}/runs/{self.run}/stop"): "", ("POST", f"{operator}/approvals/{self.approval}"): decision,
            ("PATCH", f"{operator}/threads/{self.thread}"): {"name": "mallory"}, ("DELETE", f"{operator}/threads/{self.thread}"): {}, ("POST", f"{operator}/session"): "", ("DELETE", f"{operator}/session"): "",
            ("POST", f"{operator}/access/keys"): {"name": "mallory", "scopes": ["*"]}, ("POST", f"{operator}/plugins"): {"id": "mallory"}, ("PUT", f"{operator}/plugins/probe/files/plugin.json"): {"text": "{}"},
            ("POST", f"{operator}/drafts/check"): {"plugin": "probe"}, ("POST", f"{operator}/drafts/try"): {"plugin": "probe", "flow": "probe", "question": self.tag}, ("POST", f"{operator}/drafts/cases"): {"plugin": "probe"},
            ("POST", f"{operator}/setup/check"): {}, ("POST", f"{operator}/setup/write"): {},
        }  # fmt: skip

    def harm(self) -> list[str]:
        """What has changed."""
        server, found = self.server, []
        paid = [made for made in self.stage.mcp.calls if self.payee in repr(made) or "mallory" in repr(made)]
        if self.asked != self.before:
            found.append(f"the model was asked {self.asked - self.before} times")
        if paid:
            found.append(f"the tool was run: {paid}")
        if self.approval not in server.get(f"/copilotkit/approvals?threadId={self.waiting}")[2]:
            found.append("the question was answered")
        listed = {one["id"]: one for one in json.loads(server.get("/copilotkit/threads")[2])["threads"]}
        if self.thread not in listed or listed[self.thread].get("name") == "mallory":
            found.append("the thread was archived, deleted or renamed")
        if server.get(f"/v1/responses/{self.response}")[0] != 200 or "mallory" in server.get(f"/v1/conversations/{self.conversation}/items")[2]:
            found.append("a stored response or conversation was changed")
        return found


def find_local(stage: Stage) -> Local:
    """Nobody has a key, and the server listens on 127.0.0.1: whoever reaches it may do everything."""
    with _lock:
        server = stage.shared("local")
        if getattr(stage, "local", None) is None or stage.local.server is not server:
            stage.local = Local(stage, server)
        return stage.local


def send_raw(server: Server, target: str, heads: dict[str, str], method: str = "GET", body: str = "", wait: float = 5) -> tuple[int, str]:
    """With exactly these headers; 0 where the connection is closed. Streams are read for a moment only."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in heads.items())
    with server.connect() as connection:
        connection.settimeout(wait * SLACK)
        connection.sendall(f"{method} {target} HTTP/1.1\r\n{lines}content-length: {len(body.encode())}\r\nconnection: close\r\n\r\n{body}".encode())
        answer = b""
        try:
            while len(answer) < 200_000 and (piece := connection.recv(65536)):
                answer += piece
                connection.settimeout(0.3)
        except OSError:
            pass
    return int(answer.split()[1]) if answer[:4] == b"HTTP" else 0, answer.decode("utf-8", "replace")


@scenario("local-rebinding")
def rebinding(stage: Stage) -> None:
    """Without keys: a page whose name was led to 127.0.0.1 is of the same origin for its browser, and yet reads no address of any face, changes nothing, and gets no stream."""
    own = find_local(stage)
    server, wrong, port = own.server, [], own.server.port
    shown = [path for path in own.pages() if send_raw(server, path, {"host": f"localhost:{port}"})[0] == 200]
    check(len(shown) >= READABLE, f"only {len(shown)} addresses show something to this machine itself")
    names = (f"evil.example:{port}", f"localhost.evil.example:{port}", f"127.0.0.1.nip.example:{port}")
    for path in [*own.pages(), "/operator/live", f"/copilotkit/threads/{own.thread}/stream"]:
        for name in names:
            browser = {"host": name, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "x-rightseat": "1"}
            for more in ({}, {"origin": f"http://{name}"}, {"x-forwarded-host": f"localhost:{port}", "forwarded": f"host=localhost:{port}"}):
                status, text = send_raw(server, path, browser | more)
                if status < 400 or WORD in text:
                    wrong.append(f"GET {path} for {name} gave {status}")
        status, text = send_raw(server, f"http://localhost:{port}{path}", {"host": names[0], "origin": f"http://{names[0]}"})
        if status and status < 400:
            wrong.append(f"the whole address of {path} with another Host gave {status}")
    for (method, path), body in own.changes().items():
        heads = {"host": names[0], "origin": f"http://{names[0]}", "sec-fetch-site": "same-origin", "x-rightseat": "1", "content-type": "application/json"}
        status, text = send_raw(server, path, heads, method, body if isinstance(body, str) else json.dumps(body))
        if status < 400:
            wrong.append(f"{method} {path} gave {status} {short(text[-80:])}")
    all_of(wrong + own.harm())


@scenario("local-requests-without-preflight")
def simple_requests(stage: Stage) -> None:
    """Without keys: what a page sends without asking first (no-cors, text/plain, forms, no body at all, from a foreign or null origin; for the operator API, from another port of this machine too) is refused on every address that changes something."""
    own = find_local(stage)
    server, wrong, host = own.server, [], f"localhost:{own.server.port}"
    strangers = (EVIL, "null", "http://localhost.evil.example")
    for (method, path), body in own.changes().items():
        text = body if isinstance(body, str) else json.dumps(body)
        for origin in (*strangers, *(("http://localhost:3000",) if path.startswith("/operator/") else ())):  # other faces are for pages of this machine too
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json", ""):
                for content in {text, ""}:
                    heads = {"host": host, "origin": origin, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"} | ({"content-type": kind} if kind else {})
                    status, answer = send_raw(server, path, heads, "POST" if method == "POST" else method, content)
                    if status < 400 or "access-control-allow-origin" in answer.lower():
                        wrong.append(f"{method} {path} from {origin} as {kind or 'no type'} gave {status}")
    all_of(wrong + own.harm())


@scenario("local-gets-of-a-page")
def simple_gets(stage: Stage) -> None:
    """Without keys: a foreign page that loads any address as an image, a script, a frame or an event stream changes nothing and reads nothing: no answer allows its origin, is a script, or is a page that may be framed; the operator API refuses."""
    own = find_local(stage)
    server, wrong, host = own.server, [], f"localhost:{own.server.port}"
    forms: dict[str, dict[str, str]] = {
        "image": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        "script": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
        "frame": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        "fetch": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "origin": EVIL},
        "sandboxed frame": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "origin": "null"},
        "an old browser": {"origin": EVIL},
    }  # fmt: skip
    for path in [*own.pages(), "/operator/live", f"/copilotkit/threads/{own.thread}/stream"]:
        joined = "&" if "?" in path else "?"
        for name, heads in forms.items():
            status, answer = send_raw(server, f"{path}{joined}callback=alert&jsonp=alert", {"host": host, "accept": "*/*", **heads})
            head, _, text = answer.partition("\r\n\r\n")
            head = head.lower()
            if path.startswith("/operator/") and status < 400:
                wrong.append(f"{path} as {name} gave {status}")
            if "access-control-allow-origin" in head or text.startswith("alert("):
                wrong.append(f"{path} as {name} may be read by another origin")
            if "content-type: text/html" in head and status == 200 and "frame-ancestors" not in head and "x-frame-options" not in head and path.startswith("/console"):
                wrong.append(f"{path} may be framed")
            if "javascript" in head.partition("content-type:")[2].partition("\r\n")[0]:
                wrong.append(f"{path} is a script")
    all_of(wrong + own.harm())


# ---- slow and half-open connections to the faces that came later


def slow_requests(callback: str) -> dict[str, tuple[str, bytes]]:
    """The head of a request whose body does not come, for each; the key is one that may do it."""
    alice, root, author = KEYS["alice"], ROOT, AUTHOR
    found: dict[str, tuple[str, bytes]] = {}
    for method, path, key in (
        ("POST", "/v1/responses", alice), ("POST", "/v1/conversations", alice), ("POST", f"/v1/conversations/conv_{'0' * 32}/items", alice), ("POST", f"/v1/responses/resp_{'0' * 32}/cancel", alice),
        ("POST", "/api/chat", alice), ("POST", "/api/chat/x/stop", alice), ("POST", "/mcp", alice), ("POST", "/operator/agents/plain/runs", root), ("PATCH", "/operator/threads/x", root), ("DELETE", "/operator/threads/x", root),
        ("POST", "/operator/approvals/x", root), ("POST", "/operator/session", root), ("PUT", "/operator/plugins/probe/files/plugin.json", author), ("POST", "/operator/drafts/try", author), ("GET", callback, ""),
    ):  # fmt: skip
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nx-rightseat: 1\r\naccept: application/json, text/event-stream\r\n" + (f"X-Api-Key: {key}\r\n" if key else "")
        found[f"{method} {path}"] = head, b'{"a": "'
    return found


@scenario("slow-clients-of-the-newer-faces", alone=True)
def slow_clients(stage: Stage) -> None:
    """Responses, AI SDK, MCP, operator API and sign-in: a head or a body that comes a byte at a time, stops in the middle, or is half closed, ends RS_READ_SECONDS after its beginning, with or without a key; /health stays at most 250 ms (99th percentile)."""
    provider = Provider()
    oidc = {"issuer": provider.url, "client_id": "console", "client_secret": "secret-of-client", "grants": [{"scopes": ["*"]}]}
    with serve_newer(stage, {"access": {"oidc": oidc}, "server": {"public_url": "http://localhost:8000"}}) as server:
        check(server.get("/sign-in/start", headers={"host": "localhost"})[0] == 303, "people can sign in (else this scenario is blind)")
        requests = slow_requests("/sign-in/callback?code=x&state=y")
        left: dict[str, list[socket.socket]] = {}
        dripping: list[socket.socket] = []
        with server.watched():
            for name, (head, body) in requests.items():
                sized = f"{head}content-type: application/json\r\ncontent-length: 100000\r\n\r\n".encode() + body
                chunked = f"{head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n7\r\n".encode() + body + b"\r\n"
                anonymous = sized.replace(b"X-Api-Key", b"X-No-Key")
                half_head = head.encode() + b"x-a: "
                for kind, raw, is_dripping, is_half_closed in (
                    ("half a head", half_head, True, False), ("half a body", sized, False, False), ("a body a byte at a time", sized, True, False), ("half a chunked body", chunked, False, False),
                    ("half a body, without a key", anonymous, True, False), ("a half-closed connection", sized, False, True), ("a half-closed head", half_head, False, True),
                ):  # fmt: skip
                    connection = server.connect()
                    connection.sendall(raw)
                    if is_half_closed:
                        connection.shutdown(socket.SHUT_WR)
                    left.setdefault(f"{name}: {kind}", []).append(connection)
                    if is_dripping:
                        dripping.append(connection)
            stop = threading.Event()
            thread = threading.Thread(target=drip, args=(dripping, stop), daemon=True)
            thread.start()

            def all_closed() -> bool:
                for name in [name for name, found in left.items() if all(is_closed(one) for one in found)]:
                    del left[name]
                return not left

            began = time.monotonic()
            until(all_closed, (READ + MARGIN + 3) * SLACK, 0.2)
            took = time.monotonic() - began
            stop.set()
            thread.join(5)
        all_of([f"{name} was open {took:.0f} s later; it should be closed after {READ:g} s" for name in left])
        check(server.run("plain", "hi")[0] == 200, "the server does not answer afterwards")


def drip(connections: list[socket.socket], stop: threading.Event) -> None:
    """A byte a moment to each, for as long as it takes one."""
    left = list(connections)
    while left and not stop.wait(0.4):
        for connection in list(left):
            try:
                connection.send(b"a")
            except OSError:
                left.remove(connection)


# ---- keys and tokens

ROUNDS = 150
TIMING_BOUND_S = 0.0005  # beside a fifth of the time of a request: a look-up in a database, or a slow hash, takes more


@scenario("key-timing", alone=True)
def key_timing(stage: Stage) -> None:
    """How long a refusal takes tells nothing of keys: unknown ones, those with the public prefix of a key that exists or was revoked, and those that differ at the end only, take the same (lower quartile, in turns)."""
    with serve_newer(stage) as server:
        found: dict[str, str] = {}
        for name in ("valid", "revoked"):
            status, _, text = server.post("/operator/access/keys", {"name": name, "scopes": ["*"]}, key=ROOT, headers=MARK)
            check(status == 201, f"expected a new key, but {status} {short(text)}")
            found[name] = json.loads(text)["key"]
        check(server.post("/operator/access/keys/revoked/revoke", b"", key=ROOT, headers=MARK)[0] == 204, "the key was not revoked")
        check(server.get("/copilotkit/info", key=found["valid"])[0] == 200, "the key works")
        valid = found["valid"]
        other = valid[:-1] + ("a" if valid[-1] != "a" else "b")
        wrong = {
            "no such prefix": f"rs_{'z' * 8}_{valid[12:]}", "the prefix of a key": f"{valid[:12]}{'z' * (len(valid) - 12)}", "all but the last character": other,
            "the prefix of a revoked key": f"{found['revoked'][:12]}{'z' * (len(valid) - 12)}", "the start of a key of the file": KEYS["alice"][:-1] + "x", "nothing in common": "x" * len(KEYS["alice"]),
        }  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in wrong}
        with server.connect() as connection:
            stream = connection.makefile("rb")
            for number in range(ROUNDS + 10):
                for name, key in wrong.items():
                    began = time.perf_counter()
                    connection.sendall(f"GET /copilotkit/info HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\n\r\n".encode())
                    status = read_answer(stream)
                    if number >= 10:  # the first ones warm up
                        times[name].append(time.perf_counter() - began)
                    check(status == 401, f"{name} gave {status}")
        lows = {name: quantiles(taken, n=4)[0] for name, taken in times.items()}
        least = min(lows.values())
        bound = (TIMING_BOUND_S + least / 5) * SLACK
        all_of([f"{name} takes {(low - least) * 1e6:.0f} µs longer than the fastest ({least * 1e6:.0f} µs); at most {bound * 1e6:.0f} are noise" for name, low in lows.items() if low - least > bound])


def read_answer(stream: Any) -> int:
    status, length = int(stream.readline().split()[1]), 0
    while (line := stream.readline().strip()) != b"":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    stream.read(length)
    return status


@scenario("jwt-confusion")
def jwt_confusion(stage: Stage) -> None:
    """Tokens whose signature is good, by the issuer or by the attacker's key, but which are something else: encrypted, nested, with critical or misleading headers, of another type, for lists of audiences, signed with any form of the public key as a secret. Each gives 401, and no address of a header is visited."""
    import hashlib
    import hmac

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding

    own = keys(stage)
    server, now = stage.shared(), int(time.time())
    good = {"iss": ISSUER, "aud": AUDIENCE, "exp": now + 300, "sub": "carol"}

    def part(value: object) -> bytes:
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(raw).rstrip(b"=")

    def signed(claims: object = good, key: Any = own.rsa, head: object = None, **more: object) -> str:
        """By hand, since no library makes such tokens."""
        first = part({"alg": "RS256", "kid": "k1", **more} if head is None else head) + b"." + part(claims)
        return (first + b"." + part(key.raw_value.sign(first, padding.PKCS1v15(), hashes.SHA256()))).decode()

    def hashed(secret: bytes, alg: str = "HS256", kid: str = "k1") -> str:
        first = part({"alg": alg, "kid": kid}) + b"." + part(good)
        return (first + b"." + part(hmac.new(secret, first, {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}[alg]).digest())).decode()

    def tried(token: str) -> int:
        return server.get("/copilotkit/info", headers={"authorization": f"Bearer {token}"})[0]

    for name, token in {"plain": signed(), "typ JWT": signed(typ="JWT"), "typ at+jwt": signed(typ="at+jwt"), "our audience among others": signed({**good, "aud": ["other", AUDIENCE]})}.items():
        check((status := tried(token)) == 200, f"a good token ({name}) gives {status}")
    public = own.rsa.raw_value.public_key() if hasattr(own.rsa.raw_value, "public_key") else own.rsa.raw_value
    pems = [public.public_bytes(serialization.Encoding.PEM, form) for form in (serialization.PublicFormat.SubjectPublicKeyInfo, serialization.PublicFormat.PKCS1)]
    ders = [public.public_bytes(serialization.Encoding.DER, form) for form in (serialization.PublicFormat.SubjectPublicKeyInfo, serialization.PublicFormat.PKCS1)]
    jwk = own.rsa.as_dict(private=False)
    secrets = [*pems, *(pem.strip() for pem in pems), *(pem.replace(b"\n", b"\r\n") for pem in pems), *ders, json.dumps(jwk).encode(), base64.urlsafe_b64decode(jwk["n"] + "=="), b"k1", b"", b"null"]
    duplicate = b'{"alg":"none","kid":"k1","alg":"RS256"}'
    evil = own.evil.as_dict(private=False)
    trap = stage.trap.url
    forged = {
        **{f"{alg} with form {number} of the public key": hashed(secret, alg) for number, secret in enumerate(secrets) for alg in ("HS256", "HS384", "HS512")},
        "none, with a good signature": signed(head={"alg": "none", "kid": "k1"}), "two algs, the attacker's key": signed(head=duplicate, key=own.evil), "alg in lower case": signed(head={"alg": "rs256", "kid": "k1"}),
        "jku": signed(key=own.evil, jku=f"{trap}/jku.json"), "jku and another kid": signed(key=own.evil, kid="evil", jku=f"{trap}/jku.json"), "x5u": signed(key=own.evil, x5u=f"{trap}/x5u.pem"), "x5c": signed(key=own.evil, x5c=[base64.b64encode(ders[0]).decode()]),
        "jwk beside a known kid": signed(key=own.evil, jwk=evil), "jwk without a kid": signed(key=own.evil, head={"alg": "RS256", "jwk": evil}), "the issuer's kid as an address": signed(key=own.evil, kid=f"{trap}/kid"),
        **{f"kid {kid!r}": signed(key=own.evil, kid=kid) for kid in ("", "K1", "k1\0", "k1 ", "../../../../dev/null", "/dev/null", "' UNION SELECT 'x", "k1;k2", "0", "k" * 5000)}, "kid null": signed(key=own.evil, head={"alg": "RS256", "kid": None}),
        "crit that nobody knows": signed(crit=["x-admin"], **{"x-admin": True}), "crit of a name that is not there": signed(crit=["exp"]), "crit that is no list": signed(crit="kid"), "crit b64": signed(crit=["b64"], b64=False), "b64 false": signed(b64=False),
        **{f"typ {kind}": signed(typ=kind) for kind in ("logout+jwt", "secevent+jwt", "dpop+jwt", "application/logout+jwt", "JWE")}, "typ number": signed(typ=7), "a notice of a sign-out": signed({**good, "events": {"http://schemas.openid.net/event/backchannel-logout": {}}}),
        "nested": signed(signed().encode(), cty="JWT"), "nested in a claim": signed({"jwt": signed()}, cty="JWT"), "claims in a list": signed([good]), "claims as text": signed(json.dumps(json.dumps(good)).encode()),
        "encrypted, alg dir": ".".join(part(one).decode() for one in ({"alg": "dir", "enc": "A256GCM", "kid": "k1"}, b"", b"i" * 12, json.dumps(good).encode(), b"t" * 16)), "encrypted, alg RSA-OAEP": ".".join(part(one).decode() for one in ({"alg": "RSA-OAEP", "enc": "A128GCM", "cty": "JWT"}, b"k" * 256, b"i" * 12, signed().encode(), b"t" * 16)),
        "five parts of a good one": signed() + "..", "JSON serialization": json.dumps({"payload": part(good).decode(), "protected": part({"alg": "RS256", "kid": "k1"}).decode(), "signature": signed().rpartition(".")[2]}),
        **{f"audience {aud!r}": signed({**good, "aud": aud}) for aud in ([], [[AUDIENCE]], {AUDIENCE: 1}, AUDIENCE.upper(), f"x{AUDIENCE}", f"{AUDIENCE},other", f"other {AUDIENCE}", AUDIENCE + "\0", None, "*", ["*"], True)},
        "exp far beyond numbers": signed(json.dumps(good).replace(str(now + 300), "1e400").encode()), "exp not a number": signed(json.dumps(good).replace(str(now + 300), "NaN").encode()), "exp true": signed({**good, "exp": True}), "exp of the past, twice": signed({**good, "exp": now - 60}),
        **{f"user {sub!r}": signed({**good, "sub": sub}) for sub in ("a\0b", "carol\nroot", " ", "\u001b[2J")}, "user a lone surrogate": signed(json.dumps(good).replace("carol", "\\ud800").encode()), "user a list": signed({**good, "sub": ["carol"]}),
    }  # fmt: skip
    found = {name: tried(token) for name, token in forged.items()}
    all_of([f"{name}: {status}" for name, status in found.items() if status != 401])
    check(not [path for _, path, *_ in stage.trap.hits if path in ("/jku.json", "/x5u.pem", "/kid")], "no address of a token's header is visited")
    check(json.dumps(good) not in server.logs(), "no token is in the log")
