"""The other clients that people have: Anthropic's SDK for Node, the Vercel AI SDK, LangChain, the Agent SDK for Python."""

import asyncio
import json
import os

from basics import HELLO
from claude_code import Code
from harness import Case, Skip, expect, scenario

npm = dict(group="clients")


@scenario("node-sdk", beyond=True, **npm)
def node_sdk(t: Case):
    """@anthropic-ai/sdk: create, stream with its accumulator, models, countTokens, request id."""
    got = t.node("sdk.mjs", "basics", t.base, t.any_key)
    expect(got["text"] == got["streamed"] == HELLO + "hello node.", "the text, streamed and not", got)
    expect(got["events"][0] == "message_start" and got["events"][-1] == "message_stop" and got["stop"] == "end_turn", "message_start … message_stop", got["events"])
    expect({"default", "helper"} <= set(got["models"]) and got["counted"] > 50 and got["request"], "models, a count, a request id", got)


@scenario("node-tools", **npm)
def node_tools(t: Case):
    """@anthropic-ai/sdk: three streamed calls with inputJson events, results, the answer."""
    got = t.node("sdk.mjs", "tools", t.base, t.any_key)
    expect(got["uses"] == [["lookup", {"q": "alpha"}], ["lookup", {"q": "beta"}], ["note", {"text": 'gamma "quoted" ü'}]] and got["partial"] >= 3, "three calls, in pieces", got)
    expect(got["text"] == 'Done: got alpha | got beta | got gamma "quoted" ü', "the answer", got["text"])


@scenario("node-errors", beyond=True, **npm)
def node_errors(t: Case):
    """@anthropic-ai/sdk: NotFoundError with type and request id; a broken stream is an APIError after the first half."""
    got = t.node("sdk.mjs", "errors", t.base, t.any_key)
    expect(got["unknown"]["status"] == 404 and got["unknown"]["type"] == "not_found_error" and got["unknown"]["request"], "404 not_found_error with a request id", got["unknown"])
    expect(got.get("heard") == "Here is the first half" and got["broken"] != "no error", "the first half, then an error", got)


@scenario("ai-generate", **npm)
def ai_generate(t: Case):
    """generateText of AI SDK 7 with @ai-sdk/anthropic: text, usage, stop, an object, a picture."""
    got = t.node("ai.mjs", "generate", t.base, t.any_key)
    expect(got["text"] == HELLO + "hello ai." and got["finishReason"] == "stop", "the text, stop", got)
    expect(got["usage"]["inputTokens"] > 10 and got["usage"]["outputTokens"] > 3, "usage", got["usage"])
    expect(got["object"] == {"name": "Ada Lovelace", "age": 36, "tags": ["maths", "engines"]}, "the object", got["object"])
    expect(got["picture"] == "I see 1 image and 0 file.", "the picture seen", got["picture"])


@scenario("ai-tools", **npm)
def ai_tools(t: Case):
    """streamText with tools: three calls in one step, run by the SDK, the answer in the second."""
    got = t.node("ai.mjs", "tools", t.base, t.any_key)
    expect(got["calls"] == [["lookup", {"q": "alpha"}], ["lookup", {"q": "beta"}], ["note", {"text": 'gamma "quoted" ü'}]], "three calls", got["calls"])
    expect(got["steps"] == 2 and got["text"] == 'Done: found alpha | found beta | noted gamma "quoted" ü' and not got["error"], "two steps and the answer", got)


@scenario("ai-thinking", beyond=True, **npm)
def ai_thinking(t: Case):
    """Thoughts are reasoning, the signature travels in response.messages, and the second turn is taken."""
    got = t.node("ai.mjs", "thinking", t.base, t.any_key)
    expect(got["reasoning"] == "First I think about it. Then I know." and got["text"] == "I have thought.", "reasoning and text apart", got)
    expect("assistant=I have thought." in got["again"], "the second turn", got["again"])


@scenario("ai-errors", **npm)
def ai_errors(t: Case):
    """An unknown model is an APICallError with the server's words; a stream that breaks off is an error after the first half."""
    got = t.node("ai.mjs", "errors", t.base, t.any_key)
    expect(got["unknown"]["status"] in ((404,) if not t.reference else (400, 404)) and "no-such-model" in got["unknown"]["message"], "404 with the name", got["unknown"])
    expect(got["broken"]["text"] == "Here is the first half" and (got["broken"]["failed"] or got["broken"]["finish"] == "error"), "the first half, then an error", got["broken"])


@scenario("langchain", **npm)
def langchain(t: Case):
    """ChatAnthropic: invoke and stream; usage metadata."""
    got = t.langchain("basics", t.base, t.any_key)
    expect(got["text"] == got["streamed"] == HELLO + "hello chain." and got["stop"] == "end_turn" and got["pieces"] > 3, "the text, in pieces too", got)
    expect(got["usage"]["input_tokens"] > 5 and got["streamed_usage"]["output_tokens"] == got["usage"]["output_tokens"], "the same usage", got)


@scenario("langchain-tools", **npm)
def langchain_tools(t: Case):
    """ChatAnthropic.bind_tools: streamed calls, results, the answer."""
    got = t.langchain("tools", t.base, t.any_key)
    expect(got["calls"] == [["lookup", {"q": "alpha"}], ["lookup", {"q": "beta"}], ["note", {"text": 'gamma "quoted" ü'}]], "three calls", got["calls"])
    expect(got["text"] == 'Done: found alpha | found beta | noted gamma "quoted" ü', "the answer", got["text"])


@scenario("langchain-more", **npm)
def langchain_more(t: Case):
    """ChatAnthropic with thinking over two turns; with_structured_output and its token count."""
    got = t.langchain("thinking", t.base, t.any_key)
    expect(got["types"] == ["thinking", "text"] and "assistant=I have thought." in got["again"], "thinking, text; the second turn", got)
    got = t.langchain("structured", t.base, t.any_key)
    expect(got["name"] == "Ada Lovelace" and got["tokens"] > 50, "the object, a count", got)


@scenario("agent-sdk", **npm)
def agent_sdk(t: Case):
    """claude-agent-sdk for Python: query() with an in-process MCP tool, which the client defers: called by its name alone, and once its ToolSearch has found it, it runs, its result comes back, and the result message has the text."""
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

    called = []

    @tool("lookup", "Look something up.", {"q": str})
    async def lookup(args):
        called.append(args)
        return {"content": [{"type": "text", "text": f"found {args['q']}"}]}

    code = Code(t)
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC", "CLAUDE")):
            os.environ.pop(name)
    options = ClaudeAgentOptions(model="claude-sonnet-4-5", cwd=str(code.work), env=code.env, mcp_servers={"own": create_sdk_mcp_server("own", tools=[lookup])}, allowed_tools=["mcp__own__lookup"], max_turns=4, setting_sources=[])

    async def run(words: str):
        last = None
        async for m in query(prompt=words, options=options):
            if isinstance(m, ResultMessage):
                last = m
        return last

    lookup_call = 'do <<mcp__own__lookup {"q": "alpha"}>>'
    for words in (lookup_call, f'do <<ToolSearch {{"query": "select:mcp__own__lookup"}}>> {lookup_call}'):
        called.clear()
        got = asyncio.run(asyncio.wait_for(run(words), 60))
        expect(called == [{"q": "alpha"}], "lookup called once", called)
        expect(got and not got.is_error and "found alpha" in (got.result or ""), "the result in the answer", got and got.result)
