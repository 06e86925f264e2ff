"""What a web page, a wrong name or a wrong form of request can do."""

import json
import socket
import time
from urllib.parse import quote

from fakes import say
from judging import SLACK, all_of, check, scenario, short
from stage import KEYS, Stage, run_input, unique

CHAT = {"model": "plain", "messages": [{"role": "user", "content": "hi"}]}
HUMAN = {"messages": [{"role": "human", "content": "hi"}]}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
RESPONSE = {"model": "plain", "input": "hi"}
CONVERSATION = {"items": [{"role": "user", "content": "hi"}]}
UI_CHAT = {"id": "chat-of-a-page", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]}
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/plain; application/json")
FOREIGN = (
    "http://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "https://localhost@evil.example",
    "http://evil.example:80", "http://localhost:3000.evil.example", "file://", "chrome-extension://abc",
)  # fmt: skip


def posts(base: str) -> dict[str, object]:
    """Addresses that take a POST, with a body that each would take."""
    run = run_input("hi")
    kit = f"{base}/copilotkit"
    return {
        kit: {"method": "agent/run", "params": {"agentId": "plain"}, "body": run},
        f"{kit}/agent/plain/run": run,
        f"{kit}/agui/plain": run,
        f"{kit}/agent/plain/suggest": run,
        f"{kit}/agent/plain/stop/{run['threadId']}": {},
        f"{kit}/threads/{run['threadId']}/archive": {},
        f"{kit}/approvals/x": {"status": "resolved"},
        f"{base}/v1/chat/completions": CHAT,
        f"{base}/v1/responses": RESPONSE,
        f"{base}/v1/responses/resp_{'0' * 32}/cancel": {},
        f"{base}/v1/conversations": CONVERSATION,
        f"{base}/v1/conversations/conv_{'0' * 32}": {"metadata": {}},
        f"{base}/v1/conversations/conv_{'0' * 32}/items": CONVERSATION,
        f"{base}/openbb/v1/query": HUMAN,
        f"{base}/openbb/v1/query/plain": HUMAN,
        f"{base}/mcp": LIST,
        f"{base}/api/chat": UI_CHAT,
        f"{base}/api/chat/x/stop": {},
    }


@scenario("content-types")
def content_types(stage: Stage) -> None:
    """No face takes a body that is not sent as JSON: text/plain, forms, multipart, and no type at all give 4xx (415), without an Origin too."""
    server, wrong = stage.shared(), []
    for path, body in posts("/open").items():
        for form in FORMS:
            status, _, _ = server.post(path, json.dumps(body), headers={"content-type": form} if form else {})
            if status < 400:
                wrong.append(f"POST {path} as {form or 'no type'} gave {status}")
            elif status >= 500:
                wrong.append(f"POST {path} as {form or 'no type'} gave {status}")
    all_of(wrong)


@scenario("json-depth")
def json_depth(stage: Stage) -> None:
    """JSON nested deeper than 64 gives 400 on every face; a depth of 40 is taken."""
    server, wrong = stage.shared(), []

    def bodies(inner: str) -> dict[str, tuple[str, str]]:
        run = json.dumps(run_input("hi")).replace('"state": {}', f'"state": {{"a": {inner}}}')
        return {
            "AG-UI": ("/copilotkit/agent/plain/run", run),
            "envelope": ("/copilotkit", json.dumps({"method": "agent/run", "params": {"agentId": "plain"}})[:-1] + f', "body": {run}}}'),
            "GraphQL": ("/copilotkit", '{"query": "{__typename}", "variables": {"a": ' + inner + "}}"),
            "OpenAI": ("/v1/chat/completions", json.dumps(CHAT)[:-1] + f', "metadata": {inner}}}'),
            "Responses": ("/v1/responses", json.dumps(RESPONSE)[:-1] + f', "client_metadata": {inner}}}'),
            "Responses items": ("/v1/responses", '{"model": "plain", "input": [{"role": "user", "content": "hi", "more": ' + inner + "}]}"),
            "Conversations": ("/v1/conversations", '{"items": [{"role": "user", "content": "hi", "more": ' + inner + "}]}"),
            "OpenBB": ("/openbb/v1/query", json.dumps(HUMAN)[:-1] + f', "workspace_state": {inner}}}'),
            "AI SDK": ("/api/chat", json.dumps({**UI_CHAT, "id": unique("chat")})[:-1] + f', "metadata": {inner}}}'),
            "MCP": ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {"to": ' + inner + "}}}"),
        }

    heads = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    for depth in (70, 200, 900):
        for face, (path, body) in bodies('{"a":' * depth + "1" + "}" * depth).items():
            status, _, text = server.post(path, body, key="alice", headers=heads)
            is_refused = status == 400 or (face in ("MCP", "GraphQL") and status < 500 and "error" in text.lower())
            if not is_refused:
                wrong.append(f"{face} took JSON {depth} deep ({status})")
    for face, (path, body) in bodies("[" * 40 + "1" + "]" * 40).items():
        status, _, _ = server.post(path, body, key="alice", headers=heads)
        if face in ("AG-UI", "OpenBB", "AI SDK", "Responses", "Responses items", "Conversations") and status != 200:
            wrong.append(f"{face} refused JSON 40 deep ({status})")
    all_of(wrong)


@scenario("json-bombs")
def json_bombs(stage: Stage) -> None:
    """Very deep JSON, 200,000 keys, huge numbers, lone surrogates and bodies over the limit are answered within 3 s, never with 5xx."""
    server, wrong = stage.shared(), []
    run = json.dumps(run_input("hi"))
    inner = {
        "200,000 deep": "[" * 200_000 + "]" * 200_000, "200,000 keys": "{" + ",".join(f'"k{n}":1' for n in range(200_000)) + "}",
        "a number of 200,000 digits": "9" * 200_000, "1e999999": "1e999999", "surrogates": '"' + "\\ud800" * 50_000 + '"',
        "17 MB": '"' + "a" * (17 << 20) + '"', "not UTF-8": None,
    }  # fmt: skip
    for name, value in inner.items():
        for path, body in {
            "/copilotkit/agent/plain/run": run.replace('"state": {}', f'"state": {{"a": {value}}}'),
            "/v1/chat/completions": json.dumps(CHAT)[:-1] + f', "metadata": {value}}}',
            "/v1/responses": json.dumps(RESPONSE)[:-1] + f', "metadata": {{"a": {value}}}}}',
            "/v1/conversations": f'{{"items": [{{"type": "reasoning", "summary": [{value}]}}]}}',
            "/api/chat": json.dumps({**UI_CHAT, "id": unique("chat")})[:-1] + f', "metadata": {value}}}',
            "/mcp": '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": ' + str(value) + "}}",
        }.items():
            content = b'{"a": "\xff\xfe\x00"}' if value is None else body.encode()
            began = time.monotonic()
            status, _, text = server.post(path, content, key="alice", headers={"content-type": "application/json", "accept": "application/json, text/event-stream"})
            took = time.monotonic() - began
            if status >= 500 or took > 3 * SLACK:
                wrong.append(f"{path} with {name}: {status} after {took:.1f} s {short(text, 60)}")
    import gzip

    status, _, _ = server.post("/v1/chat/completions", gzip.compress(b" " * (30 << 20)), key="alice", headers={"content-type": "application/json", "content-encoding": "gzip"})
    if not 400 <= status < 500:
        wrong.append(f"a gzip bomb as a body gave {status}")
    all_of(wrong)


@scenario("docs-behind-access")
def docs(stage: Stage) -> None:
    """With documentation switched on, /docs, /redoc and /openapi.json want a key like everything else (401 or 404 without one)."""
    server = stage.shared()
    found = {path: server.get(path)[0] for path in ("/docs", "/openapi.json", "/redoc", "/docs/oauth2-redirect")}
    all_of([f"GET {path} without a key gave {status}" for path, status in found.items() if status not in (401, 403, 404)])


@scenario("foreign-pages")
def foreign_pages(stage: Stage) -> None:
    """A POST with a foreign or null Origin is refused on every open face, as JSON too, and never gets Access-Control-Allow-Origin."""
    server, wrong = stage.shared(), []
    for path, body in posts("/open").items():
        for origin in FOREIGN:
            for form in ("application/json", "text/plain"):
                status, heads, text = server.post(path, json.dumps(body), headers={"content-type": form, "origin": origin})
                if status < 400:
                    wrong.append(f"POST {path} from {origin} as {form} gave {status} {short(text, 40)}")
                if heads.get("access-control-allow-origin") in (origin, "*") and origin != "null":
                    wrong.append(f"POST {path} from {origin} got Access-Control-Allow-Origin")
    all_of(wrong)


@scenario("preflights")
def preflights(stage: Stage) -> None:
    """No preflight of a foreign page is allowed, on any face."""
    server, wrong = stage.shared(), []
    for origin in FOREIGN:
        for path in ("/open/copilotkit", "/open/v1/chat/completions", "/open/openbb/v1/query", "/open/mcp", "/copilotkit"):
            asked = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type", "access-control-request-private-network": "true"}
            _, heads, _ = server.request("OPTIONS", path, headers=asked)
            if heads.get("access-control-allow-origin"):
                wrong.append(f"{path} allows {origin}: {heads.get('access-control-allow-origin')}")
    all_of(wrong)


@scenario("gets-change-nothing")
def gets(stage: Stage) -> None:
    """A GET never runs, stops, archives or approves anything, whatever its query or method-override headers say; nor does a GraphQL mutation by GET."""
    server, wrong, asked = stage.shared(), [], []
    tag = stage.model.script(lambda request: asked.append(1) or say("ran"))
    thread = unique()
    server.run("plain", "hello", thread, key=None, path="/open/copilotkit")
    mutation = "mutation g($data: GenerateCopilotResponseInput!) { generateCopilotResponse(data: $data) { threadId } }"
    message = {"id": "m", "createdAt": "2026-01-01T00:00:00Z", "textMessage": {"content": f"[[{tag}]]", "role": "user"}}
    data = {"metadata": {"requestType": "Chat"}, "threadId": thread, "messages": [message], "frontend": {"actions": [], "url": "x"}}
    text = server.get(f"/open/copilotkit?query={quote(mutation)}&variables={quote(json.dumps({'data': data}))}")[2]
    if '"generateCopilotResponse":{' in text.replace(" ", ""):
        wrong.append(f"a mutation by GET: {short(text, 60)}")
    gone = (
        f"/open/copilotkit/threads/{thread}/archive", f"/open/copilotkit/threads/{thread}", "/open/copilotkit/agent/plain/run",
        f"/open/copilotkit/agent/plain/stop/{thread}", "/open/openbb/v1/query", "/open/v1/chat/completions", "/open/copilotkit/approvals/x?status=resolved",
    )  # fmt: skip
    for path in gone:
        for override in ({}, {"x-http-method-override": "DELETE"}, {"x-method-override": "POST"}):
            status, _, text = server.get(path, headers=override)
            if status < 400:
                wrong.append(f"GET {path} gave {status} {short(text, 60)}")
    check(not asked, "a GET asked the model")
    server.post("/open/copilotkit", {"query": mutation, "variables": {"data": data}})
    check(asked, "the same mutation by POST is served (else this scenario is blind)")
    kept = server.get(f"/open/copilotkit/threads/{thread}/messages")[0]
    check(kept == 200, f"the thread is still there ({kept})")
    all_of(wrong)


@scenario("hosts")
def hosts(stage: Stage) -> None:
    """A request whose Host is not a name of this server is refused on every face, however the name is written."""
    server, wrong = stage.shared(), []
    names = (
        "evil.example", f"evil.example:{server.port}", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "localhost#",
        "localhost?", "localhost/", "localhost\\", "localhost evil", "localhost,evil.example", "", "[::1", "0.0.0.0", "127.1", "2130706433",
        "0x7f.1", "localhost:99999999", "localhost%00", "127.0.0.1:80:80", "ｌocalhost",
    )  # fmt: skip
    raws = [b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, name.encode()) for name in names for path in (b"/health", b"/open/copilotkit/info", b"/open/v1/models")]
    raws += [
        b"GET /open/copilotkit/info HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET /open/copilotkit/info HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        b"GET /open/copilotkit/info HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\nConnection: close\r\n\r\n",
    ]
    for raw in raws:
        with server.connect() as connection:
            connection.sendall(raw)
            answer = connection.recv(4096)
        status = int(answer.split()[1]) if answer[:4] == b"HTTP" else 400
        if status < 400:
            wrong.append(f"{short(raw.decode('utf-8', 'replace'), 70)} gave {status}")
    all_of(wrong)


@scenario("cookie-csrf")
def cookie_csrf(stage: Stage) -> None:
    """A cookie that carries a key does not work for a foreign page; without an Origin it does."""
    server, wrong = stage.shared(), []
    for origin in ("http://evil.example", "null"):
        for form in ("text/plain", "application/json"):
            heads = {"cookie": f"session={KEYS['alice']}", "origin": origin, "content-type": form}
            status, _, _ = server.post("/copilotkit/agent/plain/run", json.dumps(run_input("hi")), headers=heads)
            if status < 400:
                wrong.append(f"a page at {origin} with the user's cookie, {form}: {status}")
    own = server.get("/copilotkit/info", headers={"cookie": f"session={KEYS['alice']}"})[0]
    if own != 200:
        wrong.append(f"the cookie itself was refused ({own})")
    all_of(wrong)


@scenario("request-smuggling")
def smuggling(stage: Stage) -> None:
    """A request with two lengths, a list of them, a negative one, or a length and chunks is refused or closed: what follows in its body is never answered as a request of its own."""
    server, wrong = stage.shared(), []
    inner = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    heads = {
        "two lengths": b"content-length: 5\r\ncontent-length: %d\r\n" % (5 + len(inner)),
        "length and chunks": b"content-length: %d\r\ntransfer-encoding: chunked\r\n" % (5 + len(inner)),
        "a list of lengths": b"content-length: 5, %d\r\n" % (5 + len(inner)),
        "a negative length": b"content-length: -1\r\n",
        "chunked twice": b"transfer-encoding: chunked, chunked\r\n",
        "xchunked": b"transfer-encoding: xchunked\r\ncontent-length: 5\r\n",
        "a space before the colon": b"content-length : 5\r\n",
    }
    for name, head in heads.items():
        body = b"0\r\n\r\n" + inner
        raw = b"POST /open/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n" + head + b"\r\n" + body
        with server.connect() as connection:
            connection.sendall(raw)
            answers = b""
            connection.settimeout(1)
            try:
                while len(answers) < 20_000 and (more := connection.recv(4096)):
                    answers += more
            except (TimeoutError, socket.timeout):
                pass
            except OSError:
                pass
        if b'"status":"ok"' in answers.replace(b" ", b"") and name not in ("xchunked",):
            wrong.append(f"{name}: what was inside of the body was answered")
    all_of(wrong)
