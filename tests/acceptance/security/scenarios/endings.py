"""Nothing may go on for ever: connections, requests, streams, answers. The times are those that the server is told."""

import resource
import threading
import time

from fakes import DONE, chunk, pieces, say
from judging import SLACK, check, scenario
from stage import ANSWER, READ, SILENCE, STREAMS, UNREAD, KEYS, Server, Stage, is_closed, run_input, unique, until

MARGIN = 2.0  # seconds beyond the time that the server is told
CLIENTS = 6  # that never read: fewer than one user may have


def closed_within(server: Server, first: bytes, seconds: float, what: str) -> None:
    with server.connect() as connection:
        connection.sendall(first)
        began = time.monotonic()
        check(until(lambda: is_closed(connection), (seconds + MARGIN) * SLACK), f"{what} was open {time.monotonic() - began:.0f} s later; it should be closed after {seconds:g} s")


@scenario("idle-connection")
def idle(stage: Stage) -> None:
    """A connection that says nothing is closed after RS_READ_SECONDS (default at most 30 s)."""
    closed_within(stage.shared(), b"", READ, "an idle connection")


@scenario("half-a-head")
def half_head(stage: Stage) -> None:
    """A request whose head does not end, a byte a second, is closed or answered (408) after RS_READ_SECONDS from its beginning."""
    server = stage.shared()
    with server.connect() as connection:
        connection.sendall(b"POST /copilotkit HTTP/1.1\r\nHost: localhost\r\nx-a: ")
        began = time.monotonic()
        while time.monotonic() - began < (READ + MARGIN) * SLACK:
            if is_closed(connection):
                return
            try:
                connection.sendall(b"a")
            except OSError:
                return
            time.sleep(0.5)
        check(False, f"half a head was open {time.monotonic() - began:.0f} s later; it should be closed after {READ:g} s")


@scenario("half-a-body")
def half_body(stage: Stage) -> None:
    """A request with a key whose body does not come is closed or answered (408) after RS_READ_SECONDS."""
    head = f"POST /copilotkit HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {KEYS['alice']}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{{"
    closed_within(stage.shared(), head.encode(), READ, "half a body")


@scenario("half-a-body-without-a-key")
def half_body_without(stage: Stage) -> None:
    """A request without a key is refused before its body is waited for, and its connection is closed after RS_READ_SECONDS."""
    head = b"POST /copilotkit HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{"
    closed_within(stage.shared(), head, READ, "half a body without a key")


@scenario("many-idle-connections", alone=True)
def descriptors(stage: Stage) -> None:
    """With 256 descriptors and 300 idle connections without a key, /health answers again within RS_READ_SECONDS and 3 s."""
    with stage.fresh("descriptors", limits={resource.RLIMIT_NOFILE: 256}) as server:
        held = []
        try:
            for _ in range(300):
                try:
                    held.append(server.connect())
                except OSError:
                    break

            def is_well() -> bool:
                try:
                    return server.get("/health", timeout=1)[0] == 200
                except OSError:
                    return False
                except Exception:
                    return False

            time.sleep(1)
            check(until(is_well, (READ + 3) * SLACK, 0.3), f"/health did not answer within {READ + 3:g} s while 300 connections were idle")
        finally:
            for connection in held:
                connection.close()


def flood():
    big = b"".join(pieces("a" * 60_000))
    for _ in range(400):
        yield big
    yield from say("end")


def never_reads(stage: Stage, path: str, body: dict, tag: str) -> None:
    server = stage.shared()
    before = server.memory()
    held = []
    try:
        for _ in range(CLIENTS):
            one = {**body, **({"threadId": unique()} if "threadId" in body else {})}
            connection = server.connect(receive_buffer=4096)
            connection.sendall(server.raw("POST", path, one))
            held.append(connection)
        check(until(lambda: stage.model.sent[tag] > 1 << 20, 5), "the model is asked")
        # Without reading, the only signs are those of the kernel: the server's end of the connection, or its pause.
        end = time.monotonic() + (UNREAD + MARGIN) * SLACK
        while time.monotonic() < end and established(server, held):
            time.sleep(0.2)
        left, grown = established(server, held), server.memory() - before
        check(not left, f"{left} of {CLIENTS} clients that never read were not cut off {UNREAD + MARGIN:g} s later; they should be after {UNREAD:g} s")
        check(grown < 2 * CLIENTS + 10, f"the server grew by {grown:.0f} MB for {CLIENTS} clients that never read; 2 MB each are allowed")
    finally:
        for connection in held:
            connection.close()


def established(server: Server, held: list) -> int:
    """How many of these connections the server still has open, as the kernel tells."""
    ports = {connection.getsockname()[1] for connection in held}
    count = 0
    with open("/proc/net/tcp") as table:
        for row in table.read().splitlines()[1:]:
            fields = row.split()
            mine, other = (int(fields[n].rsplit(":", 1)[1], 16) for n in (1, 2))
            count += mine == server.port and other in ports and fields[3] == "01"
    return count


@scenario("client-that-never-reads", alone=True)
def unread_openai(stage: Stage) -> None:
    """Six clients of the OpenAI face that never read a flood of 24 MB are cut off RS_UNREAD_SECONDS after the server could last send, and cost less than 2 MB each."""
    tag = stage.model.script(lambda asked: flood())
    never_reads(stage, "/v1/chat/completions", {"model": "plain", "stream": True, "messages": [{"role": "user", "content": f"[[{tag}]]"}]}, tag)


@scenario("client-that-never-reads-agui", alone=True)
def unread_agui(stage: Stage) -> None:
    """The same for AG-UI, whose run itself may go on."""
    tag = stage.model.script(lambda asked: flood())
    never_reads(stage, "/copilotkit/agent/plain/run", run_input(f"[[{tag}]]"), tag)


def ends(stage: Stage, script, seconds: float, what: str) -> None:
    server = stage.shared()
    stop = threading.Event()
    tag = stage.model.script(lambda asked: script(stop))
    began, done = time.monotonic(), []

    def ask() -> None:
        try:
            done.append(server.chat("plain", f"[[{tag}]]", timeout=seconds + MARGIN + 10)[2])
        except Exception as error:
            done.append(repr(error))

    threading.Thread(target=ask, daemon=True).start()
    try:
        ended = until(lambda: done, (seconds + MARGIN) * SLACK)
        check(ended, f"{what} was not ended after {time.monotonic() - began:.0f} s; it should be after {seconds:g} s")
        check("error" in done[0].lower() or "finish_reason" in done[0], f"the client is told: {done[0][:100]}")
    finally:
        stop.set()


@scenario("model-that-only-comments")
def comments(stage: Stage) -> None:
    """A model's server that sends nothing but comments, twice a second, is given up after RS_SILENCE_SECONDS: comments are silence."""

    def script(stop: threading.Event):
        while not stop.wait(0.5):
            yield b": still here\n\n"

    ends(stage, script, SILENCE, "an answer of nothing but comments")


@scenario("model-that-says-nothing-much")
def empty(stage: Stage) -> None:
    """One that sends pieces without content, twice a second, likewise."""

    def script(stop: threading.Event):
        while not stop.wait(0.5):
            yield chunk({"content": ""})

    ends(stage, script, SILENCE, "an answer of empty pieces")


@scenario("model-that-never-ends")
def endless(stage: Stage) -> None:
    """One that says a word twice a second for ever is ended after RS_ANSWER_SECONDS, the longest that one answer may take."""

    def script(stop: threading.Event):
        while not stop.wait(0.5):
            yield chunk({"content": "word "})
        yield DONE

    ends(stage, script, ANSWER, "an answer without an end")


@scenario("model-that-is-silent")
def silent(stage: Stage) -> None:
    """One that sends nothing at all is given up after RS_SILENCE_SECONDS."""

    def script(stop: threading.Event):
        stop.wait(30)
        return
        yield b""

    ends(stage, script, SILENCE, "a silent answer")


@scenario("streams-per-user", alone=True)
def streams(stage: Stage) -> None:
    """One user with 40 streams at once, over two faces: the model is asked at most RS_STREAMS_PER_USER times at once, the others get 429 or 503; bob is served meanwhile, and alice again when hers have ended."""
    server, stop = stage.shared(), threading.Event()

    def script(asked):
        yield chunk({"content": "a"})
        stop.wait(20)
        yield from say("end")

    tag = stage.model.script(script)
    held = []
    try:
        for number in range(40):
            if number % 2:
                raw = server.raw("POST", "/v1/chat/completions", {"model": "plain", "stream": True, "messages": [{"role": "user", "content": f"[[{tag}]]"}]})
            else:
                raw = server.raw("POST", "/copilotkit/agent/plain/run", run_input(f"[[{tag}]]"))
            connection = server.connect()
            connection.sendall(raw)
            held.append(connection)
        until(lambda: stage.model.most[tag] >= 40, 3)
        most = stage.model.most[tag]
        check(server.chat("plain", "hello", key="bob")[0] == 200, "bob is served meanwhile")
        check(most <= STREAMS, f"the model was asked {most} times at once for one user; {STREAMS} are allowed")
    finally:
        stop.set()
        for connection in held:
            connection.close()
    check(until(lambda: server.chat("plain", "hello")[0] == 200, 5), "alice is served again")


@scenario("gone-client-stops-the-model", alone=True)
def gone(stage: Stage) -> None:
    """A client that goes away ends the request to the model within 1 s, on the OpenAI, OpenBB and AG-UI faces (where the run is not kept)."""
    server = stage.shared()
    bodies = {
        "/v1/chat/completions": lambda tag: {"model": "plain", "stream": True, "messages": [{"role": "user", "content": tag}]},
        "/openbb/v1/query/plain": lambda tag: {"messages": [{"role": "human", "content": tag}]},
        "/copilotkit/agent/plain/suggest": lambda tag: run_input(tag),
    }
    for path, body in bodies.items():

        def script(asked):
            for _ in range(100):
                yield chunk({"content": "word "})
                time.sleep(0.05)

        tag = stage.model.script(script)
        connection = server.connect()
        connection.sendall(server.raw("POST", path, body(f"[[{tag}]]")))
        check(until(lambda tag=tag: stage.model.sent[tag] > 0, 5, 0.02), f"{path}: the model is asked")
        time.sleep(0.3)
        connection.close()
        check(stage.model.cut[tag].wait(1.2 * SLACK), f"{path}: the request to the model went on for more than 1 s")
