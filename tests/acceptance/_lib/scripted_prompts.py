"""The prompts that suites share, and what the scripted model does when it reads them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.acceptance._lib.scripted_openai import Json, Reply, Step, find_key, list_parts, read_text, refuse

ECHO_CHARS = 200
LOOKUPS = [("lookup", {"q": "alpha"}), ("lookup", {"q": "beta"}), ("note", {"text": 'gamma "quoted" ü'})]
SERVER_ERROR = {
    "message": "The server had an error while processing your request.",
    "type": "server_error",
    "code": "server_error",
}
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


@dataclass(frozen=True)
class Prompt:
    """The last message of the user, what came before it, and the results of tools after it."""

    body: Json
    text: str
    earlier: Sequence[Json]
    later: Sequence[Json]

    @classmethod
    def read(cls, body: Json, read_words: Callable[[Json], str | None] = read_text) -> "Prompt":
        """`read_words` gives what the user wrote, or None of a message in the user's name that the client wrote."""
        messages = body.get("messages") or []
        users = [(n, read_words(message)) for n, message in enumerate(messages) if message.get("role") == "user"]
        at, words = next(((n, words) for n, words in reversed(users) if words is not None), (0, ""))
        return cls(body, words, messages[:at], messages[at:])

    @property
    def key(self) -> str | None:
        return find_key(self.text)

    @property
    def messages(self) -> Sequence[Json]:
        return [*self.earlier, *self.later]

    @property
    def results(self) -> list[str]:
        return [read_text(message) for message in self.later if message.get("role") == "tool"]

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools") or [] if tool.get("type") == "function"]

    def has(self, *words: str) -> bool:
        return any(word in self.text.lower() for word in words)

    def reply(self, *steps: Step, finish: str = "stop") -> Reply:
        return Reply(self.key, steps, finish)

    def call(self, name: str, arguments: Json, text: str = "") -> Reply:
        return self.reply(*([("text", text)] if text else []), ("calls", [(name, arguments)]))


def reply_to(prompt: Prompt) -> Reply:
    return fail(prompt) or use_tools(prompt) or answer(prompt)


def fail(prompt: Prompt) -> Reply | None:
    key = prompt.key
    if prompt.has("bad key"):
        return refuse(key, 401, "Incorrect API key provided: sk-fake.", "invalid_api_key")
    if prompt.has("too long"):
        return refuse(key, 400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")
    if prompt.has("too busy"):
        return refuse(key, 429, "Rate limit reached.", "rate_limit_exceeded", "rate_limit_error")
    if prompt.has("fall over"):
        return refuse(key, 500, SERVER_ERROR["message"], "server_error", "server_error")
    if prompt.has("break off"):
        return prompt.reply(("text", "Here is the first half"), ("pause", 0.3), ("break", SERVER_ERROR))
    return None


def use_tools(prompt: Prompt) -> Reply | None:
    if prompt.results:
        return prompt.reply(("text", "Done: " + " | ".join(result[:90] for result in prompt.results)))
    if prompt.has("weather"):
        return prompt.call("getWeather", {"city": "Paris"}, "Let me check. ")
    if prompt.has("mixed"):
        return prompt.reply(("calls", [("getWeather", {"city": "Oslo"}), LOOKUPS[0]]))
    if prompt.has("parallel"):
        return prompt.reply(("calls", LOOKUPS))
    if prompt.has("tool"):
        return prompt.call("lookup", {"q": "alpha"}, "I look it up. ")
    return None


def answer(prompt: Prompt) -> Reply:
    if prompt.has("think"):
        return prompt.reply(("think", "First I think about it. Then I know."), ("text", "I have thought."))
    if prompt.has("slow"):
        return prompt.reply(("hold", prompt.key), ("text", "finished."))
    if prompt.has("recall"):
        kept = [f"{message['role']}={read_text(message)[:80]}" for message in prompt.earlier]
        return prompt.reply(("text", "I have: " + " / ".join(kept) + "."))
    match (prompt.body.get("response_format") or {}).get("type"):
        case "json_schema":
            return prompt.reply(("text", json.dumps({"name": "Ada Lovelace", "age": 36, "tags": ["maths", "engines"]})))
        case "json_object":
            return prompt.reply(("text", '{"ok": true}'))
    return describe_files(prompt) or echo(prompt)


def describe_files(prompt: Prompt) -> Reply | None:
    parts = [part for message in prompt.later for part in list_parts(message)]
    urls = [(part.get("image_url") or {}).get("url", "") for part in parts if part.get("type") == "image_url"]
    images = sum(url.startswith("data:image/") for url in urls)
    files = sum(part.get("type") == "file" and bool((part.get("file") or {}).get("file_data")) for part in parts)
    return prompt.reply(("text", f"I see {images} image and {files} file.")) if images or files else None


def echo(prompt: Prompt) -> Reply:
    text = f"Hello there, this is a streamed answer to {prompt.text[-ECHO_CHARS:] or 'nothing'}."
    limit = prompt.body.get("max_completion_tokens") or prompt.body.get("max_tokens") or 1000
    if limit < 8:
        return prompt.reply(("text", " ".join(text.split(" ")[:limit])), finish="length")
    stops = prompt.body.get("stop") or []
    places = [text.find(stop) for stop in ([stops] if isinstance(stops, str) else stops)]
    return prompt.reply(("text", text[: min((place for place in places if place >= 0), default=len(text))]))


def count_fixed_usage(body: Json, reply: Reply) -> Json:
    return USAGE


def count_words(body: Json, reply: Reply) -> Json:
    """A token for four characters of what was sent; a tenth of them from the cache, rounded down; one for a word."""
    sent = [body.get("messages"), body.get("tools") or ""]
    prompt = 3 + sum(len(json.dumps(value, ensure_ascii=False)) for value in sent) // 4
    words = sum(len(str(value).split()) for _, value in reply.steps)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": words,
        "total_tokens": prompt + words,
        "prompt_tokens_details": {"cached_tokens": prompt // 10},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
