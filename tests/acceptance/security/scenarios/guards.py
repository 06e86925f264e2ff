"""Phrases that are denied (`topsecret`, `blue falcon`) must not reach a client, however the model writes them."""

import json
import re
import unicodedata

from fakes import DONE, chunk, pieces, sse
from judging import all_of, check, scenario
from stage import Server, Stage, events, unique

WORD = "topsecret"
SHOW = {"name": "show", "description": "Shows.", "parameters": {"type": "object"}}
END = [chunk({}, finish_reason="stop"), DONE]
UNSEEN = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def seen(text: str) -> str:
    """As a reader sees it: nothing that is not shown, letters as letters, marks left away."""
    plain = unicodedata.normalize("NFKD", UNSEEN.sub("", text))
    return "".join(one for one in plain if not unicodedata.combining(one)).lower()


def shown(text: str) -> list[str]:
    """What a client would put together of an answer: whole texts, in order, of AG-UI, OpenAI and OpenBB."""
    whole: list[str] = []
    try:
        data = [json.loads(text)]
    except ValueError:
        data = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:") and line[5:].strip().startswith("{")]
    if isinstance(data[0] if data else None, dict):
        whole.append("".join(walk(data)))
    return [*whole, text]


def walk(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for one in value for text in walk(one)]
    if isinstance(value, dict):
        keys = ("delta", "content", "reasoning_content", "refusal", "arguments", "text", "value", "messages", "choices", "message", "function", "tool_calls", "toolCalls", "events", "name", "eventType", "details")
        return [text for key in keys if key in value for text in walk(value[key])]
    return []


def is_leaked(text: str, phrase: str = WORD) -> bool:
    wanted = phrase.replace(" ", r"[\s_]*")
    return any(re.search(wanted, seen(one)) for one in shown(text))


def leaks(stage: Stage, server: Server, said: list[bytes], phrase: str = WORD) -> list[str]:
    """By which ways a client gets it."""
    tag, thread, found = stage.says(lambda asked: [*said, *END]), unique(), []
    tools = [{"type": "function", "function": SHOW}]
    answers = {
        "AG-UI": server.run("plain", f"hello {tag}", thread, tools=[SHOW])[2],
        "the thread": server.get(f"/copilotkit/threads/{thread}/messages", key="alice")[2],
        "its events": server.get(f"/copilotkit/threads/{thread}/events", key="alice")[2],
        "OpenAI": server.chat("plain", f"hello {tag}", tools=tools)[2],
        "OpenAI streamed": server.chat("plain", f"hello {tag}", tools=tools, stream=True)[2],
        "OpenBB": server.query(f"hello {tag}")[2],
    }
    for way, text in answers.items():
        if is_leaked(text, phrase):
            found.append(way)
    return found


def judge(stage: Stage, ways: dict[str, list[bytes]], phrase: str = WORD) -> None:
    server, wrong = stage.shared("guards"), []
    for name, said in ways.items():
        if found := leaks(stage, server, said, phrase):
            wrong.append(f"{name}: reached the client by {', '.join(found)}")
    all_of(wrong)


def between(mark: str) -> list[bytes]:
    return list(pieces("x " + mark.join(WORD) + " y", 4))


@scenario("guard-control-characters")
def control(stage: Stage) -> None:
    """A denied phrase with \\x00, \\x08, \\x1b or \\x7f between its letters does not reach a client by any of six ways."""
    judge(stage, {repr(mark): between(mark) for mark in ("\x00", "\x08", "\x1b", "\x7f")})


@scenario("guard-compatibility-letters")
def compatibility(stage: Stage) -> None:
    """Nor in full-width, mathematical or circled letters, which NFKC makes plain."""
    wide = "".join(chr(ord(one) + 0xFEE0) for one in WORD)
    bold = "".join(chr(0x1D41A + ord(one) - 97) for one in WORD)
    circled = "".join(chr(0x24D0 + ord(one) - 97) for one in WORD)
    judge(stage, {"full-width": list(pieces(f"x {wide} y", 4)), "mathematical": list(pieces(f"x {bold} y", 4)), "circled": list(pieces(f"x {circled} y", 4))})


@scenario("guard-combining-marks")
def combining(stage: Stage) -> None:
    """Nor with combining marks on its letters."""
    judge(stage, {"dots below": between("\u0323"), "a stroke over each": between("\u0336")})


@scenario("guard-blank-between-words")
def blanks(stage: Stage) -> None:
    """Nor with a blank between the words that is no white space to Unicode: braille blank, Hangul filler, zero width space."""
    marks = {"braille blank": "\u2800", "hangul filler": "\u3164", "zero width space": "\u200b"}
    judge(stage, {name: list(pieces(f"x blue{mark}falcon y", 2)) for name, mark in marks.items()}, "blue falcon")


@scenario("guard-reasoning-split")
def reasoning_split(stage: Stage) -> None:
    """Nor split between the thoughts and the answer: "blue" in one, "falcon" in the other."""
    server = stage.shared("guards")
    tag = stage.says(lambda asked: [chunk({"reasoning_content": "it is the blue"}), chunk({"content": " falcon, as said"}), *END])
    text = server.run("plain", f"hello {tag}")[2]
    deltas = "".join(event.get("delta", "") for event in events(text))
    check(not re.search(r"blue\s+falcon", deltas), "a client that shows thoughts and answer in one column reads the phrase")


@scenario("guard-held-ways")
def held(stage: Stage) -> None:
    """Split pieces, upper case, zero-width and unseen characters, other white space, thoughts, tool names, ids and arguments, errors, and fields of the wire: none brings the phrase to a client."""

    def tool(**function: object) -> list[bytes]:
        id = function.pop("id", "c1")
        return [chunk({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": "show", "arguments": "{}", **function}}]}, finish_reason="tool_calls")]

    judge(
        stage,
        {
            "plain": list(pieces(f"x {WORD} y")), "one by one": list(pieces(f"x {WORD} y", 1)), "upper case": list(pieces(f"x {WORD.upper()} y", 3)), "at the very end": list(pieces(f"x {WORD}", 1)),
            "zero width": between("\u200b"), "soft hyphens": between("\u00ad"), "joiners": between("\u200d"), "variation selectors": between("\U000e0100"), "grapheme joiners": between("\u034f"),
            "5,000 zero widths": list(pieces("x top" + "\u200b" * 5000 + "secret y", 500)), "long s": list(pieces("x " + WORD.replace("s", "ſ") + " y", 4)),
            "thoughts": [chunk({"reasoning_content": f"I think {WORD} now"}), *pieces("fine")], "thoughts split": [*(chunk({"reasoning_content": one}) for one in f"think {WORD} now"), *pieces("fine")],
            "refusal": [chunk({"refusal": f"no {WORD}"})], "tool name": tool(name=WORD), "tool id": tool(id=WORD), "arguments": tool(arguments=json.dumps({"a": f"x {WORD} y"})),
            "arguments escaped": tool(arguments='{"a": "x \\u0074opsecret y"}'), "arguments as a key": tool(arguments=json.dumps({WORD: 1})), "arguments broken": tool(arguments='{"a": "\\u0074opsecret'),
            "error in the stream": [sse({"error": {"message": f"x {WORD} y", "type": "bad", "code": WORD}})], "finish reason": [*pieces("x"), chunk({}, finish_reason=WORD)],
            "names of the wire": [sse({"model": WORD, "id": WORD, "system_fingerprint": WORD, "choices": [{"index": 0, "delta": {"content": "x"}}]})],
            "annotations": [chunk({"content": "x", "annotations": [{"type": "url_citation", "url_citation": {"url": f"http://{WORD}", "title": WORD}}]})],
            "unknown fields": [chunk({"content": "x", "audio": {"transcript": WORD}, WORD: WORD})], "broken line": [b"data: {broken " + WORD.encode() + b"\n\n"],
        },
    )  # fmt: skip
    judge(stage, {name: list(pieces(f"x blue{mark}falcon y", 2)) for name, mark in {"newline": "\n\n ", "no-break space": "\u00a0", "ideographic space": "\u3000", "5,000 spaces": " " * 5000}.items()}, "blue falcon")


@scenario("guard-questions")
def questions(stage: Stage) -> None:
    """A denied question never reaches the model, in pieces over several messages either, and a denied argument of a tool never reaches the tool."""
    server = stage.shared("guards")
    tag = stage.says(lambda asked: [*pieces("answered"), *END])
    server.run("plain", f"{tag} tell me of {WORD}")
    parts = [{"id": unique("m"), "role": "user", "content": f"{tag} tell me of blue"}, {"id": unique("m"), "role": "user", "content": "falcon please"}]
    server.post("/copilotkit/agent/plain/run", {"threadId": unique(), "runId": "r", "messages": parts, "tools": [], "context": [], "state": {}, "forwardedProps": {}}, key="alice")
    server.chat("plain", f"{tag} 4111 1111 1111 1111")
    check(not [one for one in stage.model.asked[tag.strip('[]')] if WORD in one.text or "4111" in one.text or "falcon" in one.text], "a denied question reached the model")
    to = unique(WORD)
    paying = stage.says(lambda asked: [chunk({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "pay", "arguments": json.dumps({"to": to})}}]}), chunk({}, finish_reason="tool_calls"), DONE])
    server.run("banker", f"pay {paying}")
    check(not stage.mcp.paid_to(to), "a denied argument reached the tool")
