"""Claude Code, in a home and a folder of its own, with a model that says what it must do."""

import json
import os
import statistics
import subprocess
import threading
import time
from pathlib import Path

import jsonschema

from basics import HELLO
from harness import Case, Skip, expect, message, scenario, short, until

from tests.acceptance._lib.claude_code_tools import CUT, judge, read_tools, write_request

group = dict(group="code")


class Code:
    """`claude -p` with an empty home, no way out of this machine, and permission for what the fake tells it."""

    def __init__(self, t: Case, base: str | None = None, key: str | None = None, model: str = "claude-opus-5-5", bearer: bool = False):
        self.program = t.packages / "node_modules" / ".bin" / "claude"
        if not self.program.exists():
            raise Skip("claude is not there for this platform")
        self.home = t.scratch / t.key()
        self.work = self.home / "work"
        self.work.mkdir(parents=True)
        self.model, dead = model, "http://127.0.0.1:9"
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "dumb", "ANTHROPIC_BASE_URL": base or t.base, ("ANTHROPIC_AUTH_TOKEN" if bearer else "ANTHROPIC_API_KEY"): key or t.any_key,
            "HTTPS_PROXY": dead, "HTTP_PROXY": dead, "NO_PROXY": "127.0.0.1,localhost", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
        }

    def start(self, words: str, *more: str, **env: str) -> subprocess.Popen:
        return subprocess.Popen([str(self.program), "-p", words, "--model", self.model, "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", "Bash Write Edit Read Agent Task", *more], cwd=self.work, env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, words: str, *more: str, seconds: float = 60, **env: str) -> dict:
        process = self.start(words, *more, **env)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"expected claude to end within {seconds:g} s, got {short(out[-300:] + err[-300:])}") from None
        return self.read(out, err)

    @staticmethod
    def read(out: str, err: str) -> dict:
        try:
            return json.loads(out.strip().splitlines()[-1])
        except (IndexError, ValueError):
            raise AssertionError(f"expected a result of claude, got {short(out[-300:] + err[-400:])}") from None


def step(name: str, **arguments) -> str:
    return f"do <<{name} {json.dumps(arguments)}>> "


@scenario("code-text", **group)
def code_text(t: Case):
    """A question and its answer; the usage is what the model said; nothing is asked twice."""
    key = t.key()
    got = Code(t).run(f"say hello [{key}]")
    expect(not got["is_error"] and got["result"].startswith(HELLO + "say hello"), "the answer", got.get("result"))
    told = t.asked(key).usage
    usage = got["usage"]
    expect(usage["input_tokens"] + usage["cache_read_input_tokens"] == told["prompt_tokens"] and usage["output_tokens"] == told["completion_tokens"], "the model's own usage", (usage, told))
    expect(len(t.fake.requests(key)) == 1, "one request at the model", len(t.fake.requests(key)))


@scenario("code-bearer", beyond=True, **group)
def code_bearer(t: Case):
    """ANTHROPIC_AUTH_TOKEN: the key as Bearer, at the address behind keys; a wrong one is said in words, at once."""
    got = Code(t, base=t.secure, key="key-alice", bearer=True).run("say hello")
    expect(not got["is_error"] and got["result"].startswith(HELLO), "the answer", got.get("result"))
    began = time.monotonic()
    got = Code(t, base=t.secure, key="wrong", bearer=True).run("say hello")
    expect(got["is_error"] and got.get("api_error_status") == 401, "an error, 401", {k: got.get(k) for k in ("is_error", "api_error_status", "result")})
    expect(time.monotonic() - began < 20, "no long retries", time.monotonic() - began)


@scenario("code-edit", **group)
def code_edit(t: Case):
    """A whole loop: Write a file, Read it, Edit it, Bash; each call with its input whole, each result at the model, the file as it must be."""
    code, key = Code(t), t.key()
    file = str(code.work / "notes.txt")
    got = code.run(f"[{key}] " + step("Write", file_path=file, content="alpha\nbeta\n") + step("Read", file_path=file) + step("Edit", file_path=file, old_string="beta", new_string='gamma "quoted" ü', replace_all=False) + step("Bash", command="wc -l < notes.txt", description="count lines"))
    expect(not got["is_error"] and got["num_turns"] == 5, "five turns", {k: got.get(k) for k in ("is_error", "num_turns", "result")})
    expect(Path(file).read_text() == 'alpha\ngamma "quoted" ü\n', "alpha, gamma", Path(file).read_text())
    expect(got["result"].startswith("Done: ") and got["result"].count(" | ") == 3 and " | 2" in got["result"], "the four results, 2 lines", got["result"])


@scenario("code-continue", **group)
def code_continue(t: Case):
    """--continue: the second run sends the first one's history, calls and results included, and it is taken."""
    code, key = Code(t), t.key()
    file = str(code.work / "a.txt")
    first = code.run(step("Write", file_path=file, content="one"))
    expect(not first["is_error"], "the first run", first.get("result"))
    second = code.run(f"recall [{key}]", "--continue")
    expect(not second["is_error"] and second["session_id"] == first["session_id"], "the same session", second.get("result"))
    roles = [m["role"] for m in t.sent(key)["messages"]]
    expect("tool" in roles and "assistant" in roles, "the call and its result at the model", roles)
    expect("Done: " in second["result"], "the first answer recalled", second["result"])


@scenario("code-subagent", **group)
def code_subagent(t: Case):
    """The Agent tool: a sub-agent asks the model on its own, its answer comes back as the result."""
    got = Code(t).run(step("Agent", description="greet someone", prompt="hello from below", subagent_type="general-purpose"), seconds=90)
    expect(not got["is_error"], "an end", got.get("result"))
    below = [a for a in t.fake.log if "hello from below" in json.dumps(a.body["messages"][-3:]) and not any(m["role"] == "tool" for m in a.body["messages"]) and "do <<" not in json.dumps(a.body["messages"])]
    expect(below, "a request of the sub-agent at the model", "none")


@scenario("code-thinking", **group)
def code_thinking(t: Case):
    """A model that thinks before each call: the loop goes on, thoughts do not become text."""
    got = Code(t).run("think about it")
    expect(not got["is_error"] and got["result"] == "I have thought.", "I have thought.", got.get("result"))


@scenario("code-refusal", beyond=True, **group)
def code_refusal(t: Case):
    """A guard stops the answer: Claude Code ends in words, without a crash or a loop, and nothing of the phrase."""
    got = Code(t).run("tell the secret", seconds=60)
    expect("nightjar" not in json.dumps(got).lower(), "nothing of the phrase", got.get("result"))
    t.note(f"stop_reason {got.get('stop_reason')}")


@scenario("code-errors", **group)
def code_errors(t: Case):
    """An unknown model is said in words, at once, not tried again for minutes; a stream that breaks is tried again or said."""
    began = time.monotonic()
    got = Code(t, model="no-such-model").run("say hello", seconds=40)
    expect(got["is_error"] and "no-such-model" in got["result"], "an error that names the model", got.get("result"))
    t.note(f"{time.monotonic() - began:.1f} s")
    got = Code(t).run("break off", seconds=90, CLAUDE_CODE_MAX_RETRIES="1")
    said = got.get("result") or ""
    expect(got["is_error"] or "first half" in said or "cut off mid-stream" in said, "an error, the half answer said to be one, or an answer to the client's own request to resume it", said)


@scenario("code-busy", **group)
def code_busy(t: Case):
    """A busy model: 529 (or 429) is tried again by Claude Code, as often as told, and then said."""
    key = t.key()
    got = Code(t).run(f"too busy [{key}]", seconds=60, CLAUDE_CODE_MAX_RETRIES="1")
    expect(got["is_error"] and got.get("api_error_status") in (429, 529), "an error, 429 or 529", {k: got.get(k) for k in ("is_error", "api_error_status", "result")})
    expect(len(t.fake.requests(key)) >= 2, "a second try", len(t.fake.requests(key)))


@scenario("code-server-tools", beyond=True, **group)
def code_server_tools(t: Case):
    """An agent with tools of its own as Claude Code's model: its tool runs on the server, Claude Code's in the folder, in one session."""
    code = Code(t, model="helper")
    got = code.run("weather please")
    expect(not got["is_error"] and "21" in got["result"], "the server's result in the answer", got.get("result"))
    file = str(code.work / "b.txt")
    got = code.run(step("Write", file_path=file, content="two"), "--continue")
    expect(not got["is_error"] and Path(file).read_text() == "two", "the file written", got.get("result"))


@scenario("code-approval", beyond=True, **group)
def code_approval(t: Case):
    """An approval, decided in the console while Claude Code waits: the answer goes on in the same turn. Undecided, the turn ends in words that name the tool."""
    code = Code(t, base=t.secure, key="key-bob", model="helper")
    process = code.start("approve it please")
    waiting = until(lambda: [a for a in t.operator("GET", "approvals?owner=*") if "bob" in a["owner"]], "bob's question", 30, 0.1)
    for one in waiting:
        t.operator("POST", f"approvals/{one['id']}", {"status": "resolved", "payload": {"approved": True}})
    got = code.read(*process.communicate(timeout=40))
    expect(not got["is_error"] and "report.txt is deleted." in got["result"], "the result in the answer", got.get("result"))
    got = Code(t, base=t.secure, key="key-alice", model="helper").run("approve it please")
    expect("deleteFile" in json.dumps(got) and "is deleted" not in json.dumps(got), "words that name deleteFile, nothing run", got.get("result"))


@scenario("code-kill", beyond=True, **group)
def code_kill(t: Case):
    """kill -9 of the server in mid-stream and a start again: Claude Code's own retry finishes the task. (Messages has no resume: the face keeps no state that a client would need.)"""
    if t.reference:
        raise AssertionError("expected a server that is up again within seconds, got a peer that needs a minute to start")
    server = t.own()
    code, key = Code(t, base=server.origin + "/anthropic"), t.key()
    process = code.start(f"slow [{key}]")
    t.await_chunks(key, 5)
    server.kill()
    t.fake.release(key)
    server.start()
    got = code.read(*process.communicate(timeout=90))
    expect(not got["is_error"] and got["result"].endswith("finished."), "the whole answer", got.get("result"))


# --- a real model on this machine; skipped where the server has no model `local` ------------------------------------------------


def local(t: Case) -> None:
    if "local" not in [m.get("id") for m in t.raw("GET", "/v1/models").json().get("data", [])]:
        raise Skip("no model `local` (RS_LLAMA_URL is a llama-server; the suite starts one itself only beside its own server)")


@scenario("local-grammar", group="local", beyond=True)
def local_grammar(t: Case):
    """A small GGUF model that was never trained for tools: a forced call's input always fits its schema, 10 of 10, streamed, deltas adding up."""
    local(t)
    schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 40}, "unit": {"enum": ["c", "f"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["city", "unit", "days"], "additionalProperties": False}
    for n in range(10):
        got, _ = t.stream(f"What is the weather in town {n} for the next days?", model="local", tools=[{"name": "forecast", "description": "The weather forecast.", "input_schema": schema}], tool_choice={"type": "tool", "name": "forecast"}, max_tokens=200)
        [use] = [b for b in got["content"] if b["type"] == "tool_use"]
        value = use["input"]
        expect(set(value) == {"city", "unit", "days"} and value["unit"] in ("c", "f") and isinstance(value["days"], int) and 1 <= value["days"] <= 9 and isinstance(value["city"], str), "an input that fits the schema", value)


@scenario("local-hundred", group="local", beyond=True)
def local_hundred(t: Case):
    """A hundred forced calls with the whole list of tools that Claude Code sends, of any tool and of each by its name: every input of a whole call fits its schema."""
    local(t)
    tools, seconds, called = read_tools(), [], []
    for number in range(100):
        request = write_request(number, "local", tools)
        began = time.monotonic()
        answer = t.raw("POST", "/v1/messages", request, timeout=1800)
        seconds.append(time.monotonic() - began)
        expect(answer.status_code == 200, "an answer", f"{answer.status_code} {answer.text[:300]}")
        got = message(answer.json())
        name, problems = judge(got, request, lambda schema, value: [error.message for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(value)])
        expect(not problems, f"request {number}: one call with an input that fits", (problems, got["content"]))
        called.append(name)
        if number == 0:
            t.note(f"{got['usage']['input_tokens']} tokens in {seconds[0]:.0f} s")
    expect(called.count(CUT) <= 5, "at most 5 answers cut by max_tokens", called.count(CUT))
    t.note(f"{called.count(CUT)} cut by max_tokens, then {statistics.median(seconds[1:]):.1f} s (median)")


@scenario("local-count", group="local", beyond=True)
def local_count(t: Case):
    """count_tokens of a local model is its own tokenizer's count, within 2 % (and 8 tokens) of the usage."""
    local(t)
    words = "the quick brown fox jumps over the lazy dog. " * 20
    counted = t.client.messages.count_tokens(model="local", messages=[{"role": "user", "content": words}]).input_tokens
    usage = t.create(words, model="local", max_tokens=4)["usage"]
    told = usage["input_tokens"] + (usage.get("cache_read_input_tokens") or 0)
    expect(abs(counted - told) <= 8 + 0.02 * told, f"about {told}", counted)


@scenario("local-code", group="local", beyond=True)
def local_code(t: Case):
    """Claude Code with the local model comes to an end: an answer or a call that Claude Code can read; no API error. (What a small model says is not judged.)"""
    local(t)
    slow = {"API_TIMEOUT_MS": "900000", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "100"}    # a busy processor reads 10 tokens a second, and the model would talk to the end of its context
    got = Code(t, model="local").run("say hello", "--max-turns", "2", "--tools", "", seconds=900, **slow)
    expect(got.get("api_error_status") is None, "no API error", got.get("result"))
