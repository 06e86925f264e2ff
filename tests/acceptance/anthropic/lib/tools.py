"""The client's own tools."""

import json

import anthropic

from basics import HELLO, IMAGE, texts
from harness import LOOKUP, NOTE, Case, expect, kinds, message, refusal, refuses, results, said, scenario, turn, uses

tool = dict(group="tools")
PING = {"name": "ping", "description": "Say that you are there.", "input_schema": {"type": "object", "properties": {}}}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01", "name": "lookup", "input": {"q": "alpha"}}]}


@scenario("tool-call", **tool)
def tool_call(t: Case):
    """Text, then a call: two blocks, input whole in both forms (LiteLLM #25321, #29491 lose the first piece), stop_reason tool_use."""
    key = t.key()
    got = t.both(f"use the tool [{key}]", tools=[LOOKUP])
    expect(kinds(got) == ["text", "tool_use"] and said(got).strip() == "I look it up.", "text and tool_use", got["content"])
    [use] = uses(got)
    expect(use["name"] == "lookup" and use["input"] == {"q": "alpha"} and use["id"], "lookup {'q': 'alpha'} with an id", use)
    [sent] = [x for x in t.sent(key)["tools"] if x["function"]["name"] == "lookup"]
    expect(sent["function"]["parameters"]["properties"] == LOOKUP["input_schema"]["properties"] and sent["function"]["description"] == LOOKUP["description"], "the tool at the model", sent)


@scenario("tool-call-whole", **tool)
def tool_call_whole(t: Case):
    """A model that sends id, name and arguments of a call in one chunk: the input is not lost."""
    got = t.both("the whole call please", tools=[LOOKUP])
    expect([u["input"] for u in uses(got)] == [{"q": "alpha"}], "{'q': 'alpha'}", got["content"])


@scenario("tool-call-empty", **tool)
def tool_call_empty(t: Case):
    """A call without arguments: input {} and a block that starts and stops (claude-code-router and others sent text there)."""
    got = t.both("no arguments please", tools=[PING])
    expect([(u["name"], u["input"]) for u in uses(got)] == [("ping", {})] and got["stop_reason"] == "tool_use", "ping {}", got)


@scenario("tool-calls-parallel", **tool)
def parallel(t: Case):
    """Three calls in one message, one block each, ids apart; three results in one message, in any order, and the answer."""
    asked = [{"role": "user", "content": "parallel please"}]
    got = t.both(asked, tools=[LOOKUP, NOTE])
    expect([(u["name"], u["input"]) for u in uses(got)] == [("lookup", {"q": "alpha"}), ("lookup", {"q": "beta"}), ("note", {"text": 'gamma "quoted" ü'})], "three calls", uses(got))
    expect(len({u["id"] for u in uses(got)}) == 3, "three ids", uses(got))
    answer = results(got, "found alpha", "found beta", "noted")
    answer["content"].reverse()
    done = t.create([*asked, turn(got), answer], tools=[LOOKUP, NOTE])
    expect(all(x in said(done) for x in ("found alpha", "found beta", "noted")), "all three results", said(done))


@scenario("tool-results", beyond=True, **tool)
def tool_results(t: Case):
    """Results as text, as blocks, empty, and with is_error; a text beside them in the same message. Each reaches the model, errors told apart."""
    asked = [{"role": "user", "content": "use the tool"}]
    got = t.create(asked, tools=[LOOKUP])
    [use] = uses(got)
    for content, more, wanted in (("found it", {}, "found it"), ([{"type": "text", "text": "part one, "}, {"type": "text", "text": "part two"}], {}, "part two"), ("no such file", {"is_error": True}, "no such file")):
        done = t.create([*asked, turn(got), {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use["id"], "content": content, **more}]}], tools=[LOOKUP])
        expect(said(done).startswith("Done: ") and wanted in said(done), wanted, said(done))
        if more:
            expect(said(done) != "Done: no such file", "an error that the model can tell from a result", said(done))
    key = t.key()
    empty = t.create([{"role": "user", "content": f"use the tool [{key}]"}, turn(got), {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use["id"]}, {"type": "text", "text": "<system-reminder>go on</system-reminder>"}]}], tools=[LOOKUP])
    sent = t.sent(key)["messages"]
    expect(said(empty).startswith("Done: ") and "go on" in json.dumps(sent), "an answer, and the text beside the result at the model", sent)


@scenario("tool-result-images", beyond=True, **tool)
def result_images(t: Case):
    """A picture in a tool's result (Claude Code's Read of a PNG) reaches the model."""
    key = t.key()
    t.create([{"role": "user", "content": f"use the tool [{key}]"}, CALL, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": [{"type": "text", "text": "here it is"}, IMAGE]}]}], tools=[LOOKUP])
    sent = json.dumps(t.sent(key)["messages"])
    expect("data:image/png;base64," in sent and "here it is" in sent, "the picture and the text at the model", sent[:600])


@scenario("tool-choice", beyond=True, **tool)
def tool_choice(t: Case):
    """auto, any, tool and none, and disable_parallel_tool_use, in the model's own words."""
    for given, wanted in (({"type": "auto"}, ("auto", None)), ({"type": "any"}, ("required",)), ({"type": "tool", "name": "note"}, ({"type": "function", "function": {"name": "note"}},)), ({"type": "none"}, ("none",))):
        key = t.key()
        t.create(f"hello [{key}]", tools=[LOOKUP, NOTE], tool_choice=given)
        sent = t.sent(key)
        got = sent.get("tool_choice")
        expect(got in wanted or (given["type"] == "none" and not sent.get("tools")), f"{wanted[0]} at the model", got)
    key = t.key()
    t.create(f"hello [{key}]", tools=[LOOKUP], tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    expect(t.sent(key).get("parallel_tool_calls") is False, "parallel_tool_calls false at the model", {k: v for k, v in t.sent(key).items() if k != "messages"})


@scenario("tool-choice-bad", beyond=True, **tool)
def tool_choice_bad(t: Case):
    """A forced tool that is not offered, and an unknown type, are refused by name."""
    for given in ({"type": "tool", "name": "nothing"}, {"type": "sometimes"}):
        error = refuses(lambda: t.create("hello", tools=[LOOKUP], tool_choice=given), (400,), f"tool_choice {given}")
        expect("tool_choice" in error["message"], "tool_choice in words", error)


@scenario("tool-fields", **tool)
def tool_fields(t: Case):
    """A tool with cache_control, defer_loading, eager_input_streaming, strict, input_examples and type custom, as clients send it, is a tool like any other."""
    key = t.key()
    fancy = LOOKUP | {"type": "custom", "cache_control": {"type": "ephemeral"}, "defer_loading": False, "eager_input_streaming": True, "input_examples": [{"q": "x"}], "allowed_callers": ["direct"]}
    got = t.create(f"use the tool [{key}]", tools=[fancy, {"name": "bare", "input_schema": {"type": "object"}}])
    expect(uses(got)[0]["input"] == {"q": "alpha"}, "the call", got["content"])
    expect([x["function"]["name"] for x in t.sent(key)["tools"]][:2] == ["lookup", "bare"], "both tools at the model", t.sent(key)["tools"])


@scenario("tools-hosted", beyond=True, **tool)
def hosted(t: Case):
    """Tools that Anthropic runs itself (web_search, code_execution) are left out with a warning that names them; the others stay."""
    key = t.key()
    answer = t.raw("POST", "/v1/messages", t.body(f"use the tool [{key}]", tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}, LOOKUP]))
    expect(answer.status_code == 200, "an answer", f"{answer.status_code} {answer.text[:300]}")
    expect("web_search" in answer.headers.get("x-rightseat-warnings", "") + json.dumps(answer.json().get("warnings", "")), "a warning that names web_search", dict(answer.headers))
    expect([x["function"]["name"] for x in t.sent(key)["tools"] if x["function"]["name"] != "getWeather"] == ["lookup"], "lookup alone at the model", t.sent(key)["tools"])


@scenario("tools-client-typed", **tool)
def client_typed(t: Case):
    """Anthropic's own client-side tools (bash_20250124, text_editor_20250728), which come without a schema: offered with theirs, or left out with a warning, or refused by name; never a 5xx."""
    answer = t.raw("POST", "/v1/messages", t.body("hello", tools=[{"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}, LOOKUP]))
    if answer.status_code == 200:
        t.note("taken")
    else:
        refusal(answer, (400,), "client tools without a schema")


@scenario("tool-orphans", beyond=True, **tool)
def orphans(t: Case):
    """A result without its call, and a call without its result, are refused with 400 before any model is asked, as Anthropic does."""
    before = len(t.fake.log)
    refuses(lambda: t.create([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_none", "content": "x"}]}], tools=[LOOKUP]), (400,), "a result without its call")
    refuses(lambda: t.create([{"role": "user", "content": "hello"}, CALL, {"role": "user", "content": "and now?"}], tools=[LOOKUP]), (400,), "a call without its result")
    expect(len(t.fake.log) == before, "no request at the model", t.fake.log[-1].body["messages"] if len(t.fake.log) > before else "")


@scenario("tool-ids", **tool)
def ids(t: Case):
    """Ids fit Anthropic's pattern ^[a-zA-Z0-9_-]+$ and come back to the model as one and the same in call and result."""
    asked = [{"role": "user", "content": "use the tool"}]
    got = t.create(asked, tools=[LOOKUP])
    [use] = uses(got)
    expect(use["id"].replace("_", "").replace("-", "").isalnum(), "an id of letters, digits, _ and -", use["id"])
    key = t.key()
    foreign = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01AbCdEfGhIjKlMnOpQrStUv", "name": "lookup", "input": {"q": "alpha"}}]}
    t.create([{"role": "user", "content": f"use the tool [{key}]"}, foreign, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01AbCdEfGhIjKlMnOpQrStUv", "content": "found"}]}], tools=[LOOKUP])
    sent = t.sent(key)["messages"]
    call = next(m for m in sent if m.get("tool_calls"))["tool_calls"][0]["id"]
    expect(call == next(m for m in sent if m["role"] == "tool")["tool_call_id"], "the same id in call and result", sent)


def runnable():
    from anthropic import beta_tool

    @beta_tool
    def lookup(q: str) -> str:
        """Look something up."""
        return f"found {q}"

    @beta_tool
    def note(text: str) -> str:
        """Write something down."""
        return f"noted {text}"

    return [lookup, note]


def last_of(runner, stream: bool) -> dict:
    last = None
    for step in runner:
        last = step.get_final_message() if stream else step
    expect(last is not None, "a message", "none")
    return last.to_dict()


@scenario("tool-runner", **tool)
def runner(t: Case):
    """beta.messages.tool_runner(thread=False): three calls run by it, the answer after them, streamed and not."""
    for stream in (False, True):
        got = last_of(t.client.beta.messages.tool_runner(tools=runnable(), stream=stream, thread=False, **t.body("parallel please")), stream)
        expect(said(got) == 'Done: found alpha | found beta | noted gamma "quoted" ü', "the three results", got["content"])


@scenario("tool-runner-thread", beyond=True, **tool)
def runner_thread(t: Case):
    """The tool runner as it is by default: it sends `thread` and after the first turn only what is new (beta message-threads-2026-08-12). The history is kept, or the SDK is told thread_unsupported_request; it is never dropped in silence."""
    for stream in (False, True):
        got = last_of(t.client.beta.messages.tool_runner(tools=runnable(), stream=stream, **t.body("parallel please")), stream)
        expect(said(got) == 'Done: found alpha | found beta | noted gamma "quoted" ü', "the three results", got["content"])


THREADS = ["message-threads-2026-08-12"]


def threaded(t: Case, words, client=None, model="default", **kw) -> dict:
    return message((client or t.client).beta.messages.create(betas=THREADS, **t.body(words, model, **kw)), beta=True)


def lost(call, what: str) -> dict:
    """thread_not_found, by which the SDKs know that they must send all again."""
    try:
        got = call()
    except anthropic.APIStatusError as e:
        details = ((e.body or {}).get("error") or {}).get("details") or {}
        expect(details.get("error_code") == "thread_not_found" and e.status_code in (400, 404), f"error.details.error_code thread_not_found ({what})", (e.status_code, e.body))
        return e.body["error"]
    raise AssertionError(f"expected thread_not_found ({what}), got {said(got.to_dict() if not isinstance(got, dict) else got)}")


@scenario("thread", beyond=True, **tool)
def thread(t: Case):
    """thread create, then continue with previous_message_id and the new message alone: the model gets the history, and system and tools of the first turn; two continuations of one reply are two branches, or the second is told thread_already_continued."""
    first = threaded(t, "my name is Ada", system="Answer in rhymes.", tools=[LOOKUP], thread={"type": "create"})
    key = t.key()
    again = threaded(t, f"recall [{key}]", thread={"type": "continue", "previous_message_id": first["id"]})
    expect("user=my name is Ada" in said(again) and "assistant=Hello there" in said(again), "the first turn at the model", said(again))
    sent = t.sent(key)
    expect("Answer in rhymes." in json.dumps(sent["messages"]) and [x["function"]["name"] for x in sent["tools"]] == ["lookup"], "system and tools of the first turn at the model", sent)
    third = threaded(t, "recall", thread={"type": "continue", "previous_message_id": again["id"]})
    expect("recall" in said(third), "the second turn too", said(third))
    try:
        branch = threaded(t, "recall", thread={"type": "continue", "previous_message_id": first["id"]})
        expect(key not in said(branch), "a branch without the other's turn", said(branch))
        t.note("branches")
    except anthropic.APIStatusError as e:
        expect(e.body["error"]["details"]["error_code"] == "thread_already_continued", "thread_already_continued", e.body)
        t.note("one continuation")


@scenario("thread-lost", beyond=True, **tool)
def thread_lost(t: Case):
    """A reply that is not there, was not kept (no `thread`), or is another user's: thread_not_found, in the same words; the SDK's helper then sends all again and goes on."""
    plain = t.create("hello")
    alice = threaded(t, "hello", client=t.user("alice"), thread={"type": "create"})
    words = {lost(lambda: threaded(t, "recall", client=c, thread={"type": "continue", "previous_message_id": id}), what)["message"].replace(id, "ID") for c, id, what in ((t.client, "msg_never", "never was"), (t.client, plain["id"], "not kept"), (t.user("bob"), alice["id"], "another's"))}
    expect(len(words) == 1, "the same words", words)


@scenario("thread-restart", beyond=True, **tool)
def thread_restart(t: Case):
    """kill -9 and a start again: the thread is still there (Anthropic's own is gone after five minutes)."""
    server = t.own()
    client = t.to(server.origin + ("" if t.reference else "/anthropic"))
    first = threaded(t, "my name is Ada", client=client, thread={"type": "create"})
    server.kill()
    server.start()
    got = threaded(t, "recall", client=client, thread={"type": "continue", "previous_message_id": first["id"]})
    expect("user=my name is Ada" in said(got), "the first turn at the model", said(got))
