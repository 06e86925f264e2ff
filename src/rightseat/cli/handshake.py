"""What OpenBB Workspace, a web page, does with an agent; and what its browser makes of the answers.

Add the agent (GET /agents.json), ask leave for a POST (preflight), POST, read the stream. Each step is judged by the
rules of browsers, which a program that is not one never notices.
"""

import asyncio
import ipaddress
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from rightseat.core.errors import ConfigError
from rightseat.egress.client import Client, NoConnection, Unreachable

Headers = Mapping[str, str]

PATIENCE = 60.0  # seconds
ASKED = ("content-type", "x-trace-id")
"""Headers that Workspace itself sends with a question."""

PRIVATE = "access-control-request-private-network"


class Finding(NamedTuple):
    text: str
    is_trouble: bool = False


class Trouble(Exception):
    """There is no going on."""


class Answer(NamedTuple):
    """`pieces` are as they came. The names of headers may be in any case."""

    status: int
    headers: Headers
    pieces: list[bytes]

    @property
    def text(self) -> str:
        return b"".join(self.pieces).decode("utf-8", "replace")


class Handshake:
    def __init__(self, url: str, origin: str, headers: Headers) -> None:
        self.base = url.rstrip("/").removesuffix("/agents.json")
        self.origin = origin
        self.headers = dict(headers)
        self._tls: ssl.SSLContext | None = None

    def steps(self, agent: str | None, question: str) -> Iterator[Finding]:
        """Each as soon as it is known. Raises `Trouble` where nothing more can be found out."""
        try:
            yield from self._steps(agent, question)
        except Unreachable as error:
            raise Trouble(self._explain(error)) from None
        except ConfigError as error:
            raise Trouble(str(error)) from None

    def _steps(self, agent: str | None, question: str) -> Iterator[Finding]:
        yield from self._judge_address()
        agents, answer = self._read_agents()
        yield Finding(f"GET /agents.json: {', '.join(agents)}.")
        yield from self._judge_origin(answer, "GET /agents.json")
        yield from self._judge_agents(agents)
        name = agent or next(iter(agents))
        if name not in agents:
            raise Trouble(f"There is no agent {name!r} in /agents.json, only {', '.join(agents)}.")
        query = urljoin(f"{self.base}/", query_of(agents[name]))
        yield from self._judge_preflight(query)
        yield from self._judge_question(query, question)

    # The address

    def _judge_address(self) -> Iterator[Finding]:
        parts = urlsplit(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Trouble(f"{self.base!r} is no address. It should look like http://localhost:8000.")
        if parts.scheme == "https":
            yield from self._judge_certificate()
        elif not is_this_machine(parts.hostname):
            yield Finding(
                f"A page that came by https may not call http://{parts.hostname}: browsers block it as mixed content. "
                "Serve it by https, behind a proxy with a certificate.",
                True,
            )
        else:
            yield Finding(
                "Chrome, Edge and Firefox let Workspace call http on this machine; Safari and Brave do not. "
                "For those, serve with --tls-self-signed."
            )

    def _judge_certificate(self) -> Iterator[Finding]:
        try:
            self._get("/agents.json")
        except NoConnection as error:
            if not is_about_certificate(error):
                raise
            self._tls = unverified()
            yield Finding(
                f"The certificate is not one that browsers trust. Open {self.base}/agents.json once in the browser and "
                "accept it there, before adding the agent; else every call fails without a word."
            )
        else:
            yield Finding("The certificate is good.")

    # Adding the agent

    def _read_agents(self) -> tuple[dict[str, dict[str, Any]], Answer]:
        answer = self._get("/agents.json")
        if answer.status in (401, 403):
            raise Trouble(f"GET /agents.json: {answer.status}, it wants a key. Give one with --header.")
        if answer.status != 200:
            raise Trouble(f"GET /agents.json: {answer.status} instead of 200. Is {self.base} the right address?")
        try:
            found = json.loads(answer.text)
        except ValueError:
            raise Trouble(f"GET /agents.json: what came is no JSON. Is {self.base} an agent?") from None
        if not isinstance(found, dict) or not found or not all(isinstance(one, dict) for one in found.values()):
            raise Trouble("GET /agents.json: it should be an object with an object for each agent.")
        return found, answer

    def _judge_agents(self, agents: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
        for name, agent in agents.items():
            missing = [key for key in ("name", "description", "endpoints", "features") if not agent.get(key)]
            if "endpoints" not in missing and not query_of(agent):
                missing.append("endpoints.query")
            if missing:
                yield Finding(f"The agent {name!r} has no {', '.join(missing)}: Workspace will not add it.", True)

    def _judge_origin(self, answer: Answer, what: str) -> Iterator[Finding]:
        """May the page read it?"""
        allowed = answer.headers.get("access-control-allow-origin")
        if allowed in (self.origin, "*"):
            yield Finding(f"{what}: pages of {self.origin} may read it.")
            return
        yield Finding(
            f"{what}: pages of {self.origin} may not read it ({allowed or 'no Access-Control-Allow-Origin'}). "
            "List the page under `origins` of the face.",
            True,
        )

    # Asking

    def _judge_preflight(self, query: str) -> Iterator[Finding]:
        asked = sorted({*ASKED, *(name.lower() for name in self.headers)})
        path = urlsplit(query).path
        answer = self._request(
            "OPTIONS",
            query,
            {
                "access-control-request-method": "POST",
                "access-control-request-headers": ",".join(asked),
                PRIVATE: "true",
            },
        )
        if answer.status not in (200, 204):
            yield Finding(f"Preflight of POST {path}: {answer.status} {answer.text[:80]}.", True)
            return
        yield from self._judge_origin(answer, f"Preflight of POST {path}")
        allowed = {name.strip().lower() for name in answer.headers.get("access-control-allow-headers", "").split(",")}
        if missing := [name for name in asked if name not in allowed and "*" not in allowed]:
            yield Finding(f"Preflight: the header {', '.join(missing)} may not be sent.", True)
        if answer.headers.get("access-control-allow-private-network") != "true":
            yield Finding(
                "Preflight: no Access-Control-Allow-Private-Network. Chromium before 142 will not call this machine.",
                True,
            )

    def _judge_question(self, query: str, question: str) -> Iterator[Finding]:
        body = json.dumps({"messages": [{"role": "human", "content": question}], "timezone": "UTC"})
        headers = {"content-type": "application/json", "x-trace-id": "doctor", "origin": self.origin, **self.headers}
        answer = self._request("POST", query, headers, body.encode())
        if answer.status in (401, 403):
            yield Finding(f"POST: {answer.status}, {said_in(answer)} Give a key with --header.", True)
            return
        if answer.status != 200:
            yield Finding(f"POST: {answer.status}, {said_in(answer)} Workspace shows none of it.", True)
            return
        yield from self._judge_origin(answer, "POST")
        yield from self._judge_stream(answer)

    def _judge_stream(self, answer: Answer) -> Iterator[Finding]:
        kind = answer.headers.get("content-type", "none")
        if not kind.startswith("text/event-stream"):
            yield Finding(f"POST: the content type is {kind} instead of text/event-stream.", True)
            return
        exposed = answer.headers.get("access-control-expose-headers", "").lower()
        if "x-trace-id" not in exposed:
            yield Finding("POST: the page may not read X-Trace-Id, so feedback cannot be matched to its answer.")
        pieces, text = len(answer.pieces), answer.text
        try:
            said, failure = "".join(chunks_in(text)), failure_in(text)
        except (ValueError, KeyError, TypeError) as error:
            yield Finding(f"POST: the answer has an event that Workspace cannot read: {error!r}.", True)
            return
        if failure is not None:
            yield Finding(f"POST: the agent answers, but failed: {failure}", True)
            return
        if not said.strip():
            yield Finding("POST: the answer has nothing that a user could read.", True)
            return
        yield Finding(f"POST: an answer in {pieces} pieces: {said.strip()[:60]!r}")

    def _explain(self, error: Unreachable) -> str:
        """What went wrong on the way, and what may be the reason."""
        text = str(error).rstrip(".")
        if "WRONG_VERSION_NUMBER" in text or "record layer failure" in text:
            return f"{self.base} does not speak https. Try http://, or serve with --tls-self-signed."
        if isinstance(error, NoConnection):
            return f"{self.base} cannot be reached: {text}. Is `rightseat serve` running, and at this port?"
        if self.base.startswith("http:") and ("is no HTTP" in text or "without an answer" in text):
            return f"{self.base} does not speak http: {text}. If it was served with --tls-self-signed, try https://."
        return f"{self.base} did not answer to the end: {text}."

    def _get(self, path: str) -> Answer:
        return self._request("GET", self.base + path, self.headers)

    def _request(self, method: str, url: str, headers: Headers, body: bytes = b"") -> Answer:
        return asyncio.run(self._send(method, url, {"origin": self.origin, **headers}, body))

    async def _send(self, method: str, url: str, headers: Headers, body: bytes) -> Answer:
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            client = Client(f"{parts.scheme}://{parts.netloc}", headers, timeout=PATIENCE, tls=self._tls)
            exchange = client.request(method, path, body)
        except ValueError as error:
            raise Trouble(f"{url}: {error}.") from None
        try:
            async with exchange as response:
                return Answer(response.status, response.headers, [piece async for piece in response])
        finally:
            await client.aclose()


def unverified() -> ssl.SSLContext:
    """For a server whose certificate has been judged already."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_about_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def said_in(answer: Answer) -> str:
    try:
        return str(json.loads(answer.text).get("message", ""))[:200]
    except (ValueError, AttributeError):
        return answer.text[:80]


def query_of(agent: Mapping[str, Any]) -> str:
    endpoints = agent.get("endpoints")
    query = endpoints.get("query") if isinstance(endpoints, dict) else None
    return query if isinstance(query, str) else ""


def events_in(text: str) -> Iterator[tuple[str, Any]]:
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
        if "event" in fields:
            yield fields["event"], json.loads(fields["data"])


def chunks_in(text: str) -> Iterator[str]:
    """The words of an answer."""
    return (data["delta"] for name, data in events_in(text) if name == "copilotMessageChunk")


def failure_in(text: str) -> str | None:
    """What the agent itself says went wrong, in a step of the answer."""
    steps = [data for name, data in events_in(text) if name == "copilotStatusUpdate"]
    failed = [step for step in steps if step["eventType"] == "ERROR"]
    return (
        f"{failed[0]['message']}. {json.dumps(failed[0].get('details') or '', ensure_ascii=False)}" if failed else None
    )
