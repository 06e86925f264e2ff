"""A model and a network that say what a case has written down, and note whatever it has not."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rightseat.core.model import Chunk, StopChunk, TextChunk
from rightseat.egress.addresses import Policy
from rightseat.egress.door import Incoming, Limits, Outgoing, Unanswered
from rightseat.egress.secrets import PLACEHOLDER
from rightseat.plugins.cases.reading import Exchange, Reply, Request
from rightseat.plugins.results import StepFailed
from rightseat.plugins.speaking import Said, Wanted


class ScriptedVoice:
    """Replies by the name of the step. What it is asked beyond its script is noted in `unlisted`, and fails."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self.counts: Counter[str] = Counter()
        self.prompts: list[str] = []
        self.unlisted: list[str] = []

    async def say(self, wanted: Wanted) -> Said:
        return Said(self._reply(wanted))

    async def stream(self, wanted: Wanted) -> AsyncIterator[Chunk]:
        yield TextChunk(self._reply(wanted))
        yield StopChunk("stop")

    def _reply(self, wanted: Wanted) -> str:
        number = self.counts[wanted.name]
        self.counts[wanted.name] += 1
        self.prompts += [wanted.system, wanted.user]
        script = self._script.get(wanted.name)
        if isinstance(script, list):
            script = script[number] if number < len(script) else None
        if script is None:
            self.unlisted.append(f"the model was asked for {wanted.name!r} (call {number + 1}), which is not listed")
            raise StepFailed("llm_failed", f"The case has no reply {number + 1} for {wanted.name}.")
        return script if isinstance(script, str) else json.dumps(script, ensure_ascii=False, default=str)


class RecordedNetwork:
    """Answers requests in the order of the case, as far as they are those of the case."""

    def __init__(self, exchanges: list[Exchange]) -> None:
        self._exchanges = exchanges
        self._place = 0
        self.problems: list[str] = []

    async def send(self, outgoing: Outgoing, policy: Policy, limits: Limits) -> Incoming:
        shown = f"{outgoing.method} {unquote(outgoing.target.url)}"
        if self._place >= len(self._exchanges):
            self.problems.append(f"a request that is not listed: {shown}")
            raise Unanswered("connect", "The case has no such request.", sent=False)
        exchange = self._exchanges[self._place]
        self._place += 1
        self.problems += [f"request {self._place}: {one}" for one in differences(exchange.request, outgoing)]
        return written(exchange.reply)

    def left(self) -> list[str]:
        unsent = self._exchanges[self._place :]
        return [f"a request was not sent: {one.request.method} {one.request.url}" for one in unsent]


class MadeUpSecrets:
    """A value for every name, that nobody could mistake for another text."""

    async def resolve(self, name: str, *, host: str) -> str:
        return secret(name)

    def has(self, name: str) -> bool:
        return True


def secret(name: str) -> str:
    return f"case-secret-{name}-7f3a"


def revealed(text: str) -> str:
    """With the values of the case's secrets in the place of their names."""
    return PLACEHOLDER.sub(lambda found: secret(found[1]), text)


def differences(expected: Request, sent: Outgoing) -> list[str]:
    """What is not as the case says."""
    found: list[str] = []
    if expected.method.upper() != sent.method:
        found.append(f"expected {expected.method}, was {sent.method}")
    if address(revealed(expected.url)) != address(sent.target.url):
        found.append(f"expected {revealed(expected.url)}, was {unquote(sent.target.url)}")
    headers = {name.lower(): value for name, value in sent.headers}
    for name, value in expected.headers.items():
        if headers.get(name.lower()) != revealed(value):
            found.append(f"expected the header {name}: {revealed(value)}, was {headers.get(name.lower())}")
    body = b"".join(sent.body)
    if expected.json_body is not None and (was := as_json(body)) != as_json(dumped(expected.json_body)):
        found.append(f"expected the body {expected.json_body}, was {was}")
    if expected.form is not None:
        found += differing("form", expected.form, parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
    if expected.multipart is not None:
        found += differing("multipart", expected.multipart, parts_of(headers.get("content-type", ""), body))
    return found


def address(url: str) -> tuple[str, str, str, list[tuple[str, str]]]:
    """What two spellings of one address share."""
    read = urlsplit(url)
    return read.scheme, read.netloc, unquote(read.path), sorted(parse_qsl(read.query, keep_blank_values=True))


def differing(kind: str, expected: dict[str, Any], sent: list[tuple[str, str]]) -> list[str]:
    fields: dict[str, list[str]] = {}
    for name, value in sent:
        fields.setdefault(name, []).append(value)
    wanted = {
        name: [plain(one) for one in (value if isinstance(value, list) else [value])]
        for name, value in expected.items()
    }
    return [] if fields == wanted else [f"expected the {kind} {wanted}, was {fields}"]


def plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parts_of(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """The fields of a multipart body; of a file, its name."""
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    found: list[tuple[str, str]] = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        text = content.decode(errors="replace") if isinstance(content, bytes) else ""
        found.append((str(name), part.get_filename() or text))
    return found


def as_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode()


def written(reply: Reply) -> Incoming:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    if reply.text is not None:
        return Incoming(reply.status, {"content-type": "text/plain; charset=utf-8", **headers}, reply.text.encode())
    if reply.json_body is None:
        return Incoming(reply.status, headers)
    return Incoming(reply.status, {"content-type": "application/json", **headers}, dumped(reply.json_body))
