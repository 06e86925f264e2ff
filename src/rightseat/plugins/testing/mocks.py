"""A mock model and a mock network that replay a test case, and record calls that the case does not list."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rightseat.core.model import Chunk, StopChunk, TextChunk
from rightseat.egress.addresses import AddressPolicy
from rightseat.egress.secrets import PLACEHOLDER
from rightseat.egress.untrusted import FetchRequest, FetchResponse, RequestLimits, UntrustedRequestFailed
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.results import StepFailed
from rightseat.plugins.testing.cases import ExpectedRequest, MockExchange, MockResponse


class ScriptedModelCaller:
    """Responds by the name of the step. Calls beyond the script are recorded in `unlisted`, and fail."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self.counts: Counter[str] = Counter()
        self.prompts: list[str] = []
        self.unlisted: list[str] = []

    async def call(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(self._respond(request))

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        yield TextChunk(self._respond(request))
        yield StopChunk("stop")

    def _respond(self, request: ModelRequest) -> str:
        number = self.counts[request.name]
        self.counts[request.name] += 1
        self.prompts += [request.system, request.user]
        script = self._script.get(request.name)
        if isinstance(script, list):
            script = script[number] if number < len(script) else None
        if script is None:
            self.unlisted.append(f"the model call {number + 1} for {request.name!r} is not listed")
            raise StepFailed("llm_failed", f"The case has no response {number + 1} for {request.name}.")
        return script if isinstance(script, str) else json.dumps(script, ensure_ascii=False, default=str)


class MockNetwork:
    """Responds to requests in the order of the case, and records differences in `problems`."""

    def __init__(self, exchanges: list[MockExchange]) -> None:
        self._exchanges = exchanges
        self._position = 0
        self.problems: list[str] = []

    async def send(self, outgoing: FetchRequest, policy: AddressPolicy, limits: RequestLimits) -> FetchResponse:
        request = f"{outgoing.method} {unquote(outgoing.target.url)}"
        if self._position >= len(self._exchanges):
            self.problems.append(f"a request that is not listed: {request}")
            raise UntrustedRequestFailed("connect", "The case has no such request.", sent=False)
        exchange = self._exchanges[self._position]
        self._position += 1
        self.problems += [f"request {self._position}: {one}" for one in find_differences(exchange.request, outgoing)]
        return build_response(exchange.reply)

    def list_unsent(self) -> list[str]:
        unsent = self._exchanges[self._position :]
        return [f"a request was not sent: {one.request.method} {one.request.url}" for one in unsent]


class MockSecrets:
    """Resolves every name to a distinctive value."""

    def of_plugin(self, plugin: str) -> "MockSecrets":
        return self

    async def resolve(self, name: str, *, host: str, named_by: str = "") -> str:
        return mock_secret(name)

    def check(self, name: str, *, host: str) -> None:
        """No case sends a secret anywhere."""

    def has(self, name: str) -> bool:
        return True


def mock_secret(name: str) -> str:
    return f"case-secret-{name}-7f3a"


def insert_secrets(text: str) -> str:
    """Replace the names of secrets with their mock values."""
    return PLACEHOLDER.sub(lambda found: mock_secret(found[1]), text)


def find_differences(expected: ExpectedRequest, sent: FetchRequest) -> list[str]:
    """Compare a request with the one of the case."""
    found: list[str] = []
    if expected.method.upper() != sent.method:
        found.append(f"expected {expected.method}, was {sent.method}")
    if normalize_url(insert_secrets(expected.url)) != normalize_url(sent.target.url):
        found.append(f"expected {insert_secrets(expected.url)}, was {unquote(sent.target.url)}")
    headers = {name.lower(): value for name, value in sent.headers}
    for name, value in expected.headers.items():
        if headers.get(name.lower()) != insert_secrets(value):
            found.append(f"expected the header {name}: {insert_secrets(value)}, was {headers.get(name.lower())}")
    body = b"".join(sent.body)
    if expected.json_body is not None and (was := parse_body(body)) != parse_body(encode_json(expected.json_body)):
        found.append(f"expected the body {expected.json_body}, was {was}")
    if expected.form is not None:
        found += compare_fields("form", expected.form, parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
    if expected.multipart is not None:
        found += compare_fields("multipart", expected.multipart, read_multipart(headers.get("content-type", ""), body))
    return found


def normalize_url(url: str) -> tuple[str, str, str, list[tuple[str, str]]]:
    """Equal for two spellings of one URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc, unquote(parts.path), sorted(parse_qsl(parts.query, keep_blank_values=True))


def compare_fields(kind: str, expected: dict[str, Any], sent: list[tuple[str, str]]) -> list[str]:
    fields: dict[str, list[str]] = {}
    for name, value in sent:
        fields.setdefault(name, []).append(value)
    request = {
        name: [to_text(one) for one in (value if isinstance(value, list) else [value])]
        for name, value in expected.items()
    }
    return [] if fields == request else [f"expected the {kind} {request}, was {fields}"]


def to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_multipart(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """(name, value) of each field; for a file, its file name."""
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    found: list[tuple[str, str]] = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        text = content.decode(errors="replace") if isinstance(content, bytes) else ""
        found.append((str(name), part.get_filename() or text))
    return found


def parse_body(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def encode_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode()


def build_response(reply: MockResponse) -> FetchResponse:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    if reply.text is not None:
        return FetchResponse(
            reply.status, {"content-type": "text/plain; charset=utf-8", **headers}, reply.text.encode()
        )
    if reply.json_body is None:
        return FetchResponse(reply.status, headers)
    return FetchResponse(reply.status, {"content-type": "application/json", **headers}, encode_json(reply.json_body))
