"""One hostile input must not hold up everybody else: /health is asked all the while."""

import json
import threading
import time
from functools import partial

from fakes import DONE, chunk, pieces, say
from judging import SLACK, Failed, check, scenario
from stage import Server, Stage

WATCHED = 3.0  # seconds for which a server is watched, at most


def while_working(server: Server, work, seconds: float = WATCHED, most_mb: float | None = None) -> list:
    """Does the work beside, watches /health and memory until it has ended, or for so long."""
    done: list = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:
            done.append(error)

    before = server.memory()
    peak = before
    with server.watched() as _:
        threading.Thread(target=run, daemon=True).start()
        end = time.monotonic() + seconds * SLACK
        while not done and time.monotonic() < end:
            peak = max(peak, server.memory())
            time.sleep(0.1)
        time.sleep(0.2)
    if most_mb is not None:
        check(peak - before <= most_mb, f"the server grew by {peak - before:.0f} MB; {most_mb:.0f} are allowed")
    return done


# ---- SQL -------------------------------------------------------------------------------------------------------------

STATEMENTS = {
    "4,000 stars": "SELECT " + ",".join(["*"] * 4000) + " FROM orders",
    "1,500 stars of 400 tables": "SELECT " + ",".join(["*"] * 1500) + " FROM orders t0" + "".join(f",orders t{n}" for n in range(1, 400)),
    "4,500 additions": "SELECT 1" + "+1" * 4500 + " FROM orders",
    "400 joins": "SELECT t0.id FROM orders t0" + "".join(f", orders t{n}" for n in range(1, 400)),
    "a list of 4,000": "SELECT id FROM orders WHERE id IN (" + ",".join(["1"] * 4000) + ")",
    "1,900 casts": "SELECT 1" + "::int" * 1900 + " FROM orders",
    "tables that double": "WITH c0 AS (SELECT * FROM orders)" + "".join(f", c{n + 1} AS (SELECT * FROM c{n} a, c{n} b)" for n in range(18)) + " SELECT * FROM c18",
}


def statement(stage: Stage, *statements: str) -> None:
    with stage.spare("main") as server:
        for name in statements:
            try:
                judged(stage, server, STATEMENTS[name])
            except Failed as failure:
                raise Failed(f"{name}: {failure}") from None


def judged(stage: Stage, server: Server, sql: str) -> None:
    tag = stage.says(lambda asked: say(json.dumps({"sql": sql, "explanation": "x"})) if "SELECT statement" in asked.text else say("composed"))
    server.run("sql-lite", "warm " + stage.says(lambda asked: say(json.dumps({"sql": "SELECT id FROM orders", "explanation": "x"}))))
    done = while_working(server, lambda: server.run("sql-lite", f"rows {tag}", timeout=60)[2], most_mb=200)
    text = str(done[0]) if done else ""
    check('"internal"' not in text and "internal_error" not in text, f"it is refused as SQL, not as a fault of the server: {text[-150:]}")


@scenario("sql-many-stars", alone=True, spare="main")
def stars(stage: Stage) -> None:
    """While a statement with 4,000 stars is judged, /health has a 99th percentile of at most 250 ms, and the server grows by at most 200 MB."""
    statement(stage, "4,000 stars")


@scenario("sql-stars-times-tables", alone=True, spare="main")
def stars_tables(stage: Stage) -> None:
    """The same for 1,500 stars of 400 tables."""
    statement(stage, "1,500 stars of 400 tables")


@scenario("sql-long-statements", alone=True, spare="main")
def long_statements(stage: Stage) -> None:
    """The same for 4,500 additions, and then 400 joins, a list of 4,000 and tables that double 18 times, one after the other."""
    statement(stage, "4,500 additions", "400 joins", "a list of 4,000", "tables that double")


@scenario("sql-deep-statement", alone=True, spare="main")
def deep_statement(stage: Stage) -> None:
    """1,900 casts of one value are refused as SQL (or read), never as an internal error."""
    statement(stage, "1,900 casts")


# ---- guards ----------------------------------------------------------------------------------------------------------


@scenario("guard-digits", alone=True, spare="guards")
def digits(stage: Stage) -> None:
    """While a question of 400,000 characters of digits and spaces is judged for personal data, /health has a 99th percentile of at most 250 ms."""
    with stage.spare("guards") as server:
        while_working(server, lambda: server.chat("plain", "1 " * 200_000, timeout=60))


@scenario("guard-accounts", alone=True, spare="guards")
def accounts(stage: Stage) -> None:
    """The same for 500,000 characters that look like the beginnings of bank accounts."""
    with stage.spare("guards") as server:
        while_working(server, lambda: server.chat("plain", "aa11 " * 100_000, timeout=60))


@scenario("guard-answer", alone=True, spare="guards")
def answer(stage: Stage) -> None:
    """The same where a model answers with 400,000 such characters."""
    with stage.spare("guards") as server:
        tag = stage.says(lambda asked: [*pieces("1 " * 200_000, 4000), chunk({}, finish_reason="stop"), DONE])
        while_working(server, lambda: server.chat("plain", f"go {tag}", timeout=60))


@scenario("guard-nested-pattern", alone=True)
def nested(stage: Stage) -> None:
    """A pattern with nested repeats, RS_GUARD_PATTERN, is refused when the server starts, or a question of 35 characters is judged by it with /health at most 250 ms (99th percentile)."""
    try:
        with stage.fresh("nested", RS_GUARD_PATTERN=r"(\w{1,30} ?){1,30}#") as server:
            done = while_working(server, lambda: server.chat("plain", "please tell me something nice today", timeout=30))
            check(done, f"the question was not answered within {WATCHED:g} s")
    except Failed as failure:
        if "before it answered" not in str(failure):
            raise
        check("pattern" in str(failure).lower(), f"it says that the pattern is the reason: {failure}")


# ---- request heads ---------------------------------------------------------------------------------------------------


def status_of(connection, first: bytes, more=()) -> int:
    """The status that comes, while it is sent or afterwards; 0 where the connection is closed without one."""
    connection.settimeout(5 * SLACK)
    try:
        connection.sendall(first)
        for part in more:
            connection.sendall(part)
    except OSError:
        pass
    try:
        answer = connection.recv(200)
    except OSError:
        return 0
    return int(answer.split()[1]) if answer.startswith(b"HTTP") else 0


@scenario("head-over-32-kb")
def head_limit(stage: Stage) -> None:
    """A head of more than 32 KB (one header, many headers, a long target) is answered with 431 (414 for a target), or its connection closed; one of 16 KB is taken."""
    server, wrong = stage.shared(), []
    heads = {
        "a header of 40 KB": b"GET /health HTTP/1.1\r\nHost: localhost\r\nx-a: " + b"a" * 40_000 + b"\r\n\r\n",
        "4,000 headers": b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"x-%d: y\r\n" % n for n in range(4000)) + b"\r\n",
        "a target of 40 KB": b"GET /health?" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a header that does not end": b"GET /health HTTP/1.1\r\nHost: localhost\r\nx-a: " + b"a" * 100_000,
    }
    for name, raw in heads.items():
        with server.connect() as connection:
            status = status_of(connection, raw)
            if status not in (431, 414) and not (status in (0, 400) and name != "4,000 headers"):
                wrong.append(f"{name} gave {status}")
    with server.connect() as connection:
        status = status_of(connection, b"GET /health HTTP/1.1\r\nHost: localhost\r\nx-a: " + b"a" * 16_000 + b"\r\nConnection: close\r\n\r\n")
        if status != 200:
            wrong.append(f"a head of 16 KB gave {status}")
    if "a header that does not end gave 0" in wrong:
        wrong.remove("a header that does not end gave 0")
    check(not wrong, "; ".join(wrong))


@scenario("head-without-end", alone=True)
def head_flood(stage: Stage) -> None:
    """Six connections without a key that send 8 MB of one header each: /health at most 250 ms (99th percentile), the server grows by at most 20 MB, and none can send all of it."""
    server, sent = stage.shared(), []

    def flood() -> None:
        with server.connect() as connection:
            total = 0
            try:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nx-a: ")
                for _ in range(128):
                    connection.sendall(b"a" * 65536)
                    total += 65536
            except OSError:
                pass
            sent.append(total)

    def all_at_once() -> int:
        threads = [threading.Thread(target=flood, daemon=True) for _ in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return 1

    while_working(server, all_at_once, most_mb=20)
    # The kernel's own buffers take a few MB before a sender notices that it was cut off.
    check(sent and max(sent) < 8 << 20, f"{sum(one >= 8 << 20 for one in sent)} of 6 connections could send 8 MB of a header")


# ---- hostile answers of a model --------------------------------------------------------------------------------------


def line_without_end(megabytes: int):
    yield b'data: {"choices": [{"index":0,"delta":{"content":"'
    for _ in range(megabytes * 4):
        yield b"a" * (1 << 18)
    yield b'"}}]}\n\n'


@scenario("model-line-without-end", alone=True, spare="main")
def long_line(stage: Stage) -> None:
    """A line of an event stream is cut at 4 MB: of one of 24 MB the server reads at most 12 MB (buffers of the kernel included), ends the answer within 3 s with an error, grows by at most 24 MB, and /health stays at most 250 ms."""
    with stage.spare("main") as server:
        for face in ("OpenAI", "AG-UI"):
            tag = stage.model.script(lambda asked: line_without_end(24))
            ask = partial(server.run if face == "AG-UI" else server.chat, "plain", f"[[{tag}]]", timeout=40)
            before = server.memory()
            done = while_working(server, ask)
            grown = server.memory() - before
            check(stage.model.sent[tag] <= 12 << 20, f"{face}: {stage.model.sent[tag] >> 20} MB of one line were read")
            check(done, f"{face}: the answer was not ended within {WATCHED:g} s")
            check(grown <= 24, f"{face}: the server grew by {grown:.0f} MB; 24 are allowed")


@scenario("model-calls-without-end", alone=True, spare="main")
def many_calls(stage: Stage) -> None:
    """20 MB of empty tool calls are cut off (at most 1,000 calls reach the client): /health at most 250 ms (99th percentile), and the answer ends within 3 s."""
    calls = [chunk({"tool_calls": [{"index": n, "id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}}]}) for n in range(110_000)]
    blocks = [b"".join(calls[start : start + 500]) for start in range(0, len(calls), 500)]
    with stage.spare("main") as server:
        tag = stage.model.script(lambda asked: iter(blocks))
        tool = {"name": "t", "description": "", "parameters": {"type": "object"}}
        done = while_working(server, lambda: server.run("plain", f"[[{tag}]]", timeout=60, tools=[tool])[2])
        check(done, f"the answer was not ended within {WATCHED:g} s")
        check(str(done[0]).count('"TOOL_CALL_START"') <= 1000, f"{str(done[0]).count('TOOL_CALL_START'):,} calls reached the client")


@scenario("model-held-bombs", alone=True)
def held(stage: Stage) -> None:
    """24 MB of text, thoughts or arguments, 24 MB of comments, JSON 200,000 deep, 20,000 choices and absurd counts end within 6 s each with /health at most 250 ms, and no 500."""
    text, thought = chunk({"content": "a" * 60_000}), chunk({"reasoning_content": "a" * 60_000})
    opening = chunk({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "t", "arguments": ""}}]})
    arguments = chunk({"tool_calls": [{"index": 0, "function": {"arguments": "a" * 60_000}}]})
    bombs = {
        "text": [text] * 400, "thoughts": [thought] * 400, "arguments": [opening, *[arguments] * 400], "comments": [b": c\n" * 15_000] * 400, "depth": [b"data: " + b"[" * 200_000 + b"\n\n", DONE],
        "choices": [b'data: {"choices": [' + b",".join(b'{"index": %d, "delta": {"content": "a"}}' % n for n in range(20_000)) + b"]}\n\n", *say("x")],
        "counts": [b'data: {"choices": [], "usage": {"prompt_tokens": 1' + b"0" * 30 + b', "completion_tokens": -5}}\n\n', *say("x")],
    }  # fmt: skip
    server = stage.shared()
    for name, parts in bombs.items():
        tag = stage.model.script(lambda asked, parts=parts: iter(parts))
        try:
            done = while_working(server, partial(server.chat, "plain", f"[[{tag}]]", timeout=30), 6)
            check(done and not isinstance(done[0], Exception), f"the answer was not ended within 6 s: {done}")
            check(done[0][0] != 500, f"it gave {done[0][0]}")
        except Failed as failure:
            raise Failed(f"{name}: {failure}") from None
