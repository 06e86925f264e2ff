"""Connects to an agent as OpenBB Workspace does in a browser, and reports what the browser would block.

The steps: GET /agents.json, the CORS preflight of a POST, the POST, and its event stream.
"""

import asyncio
import ipaddress
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from rightseat.core.errors import ConfigError
from rightseat.egress.client import Client
from rightseat.egress.network import make_unverified_tls
from rightseat.egress.transport import ConnectError, TransportError

Headers = Mapping[str, str]

TIMEOUT_S = 60.0
WORKSPACE_HEADERS = ("content-type", "x-trace-id")
"""Headers that Workspace sends with each question."""

PRIVATE_NETWORK_HEADER = "access-control-request-private-network"


class HandshakeFinding(NamedTuple):
    text: str
    is_problem: bool = False


class HandshakeFailed(Exception):
    """No further step is possible."""


class HandshakeResponse(NamedTuple):
    """`pieces` are the chunks as they arrived. Header names may be in any case."""

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

    def steps(self, agent: str | None, question: str) -> Iterator[HandshakeFinding]:
        """Yields each finding as soon as it is known. Raises `HandshakeFailed` if no further step is possible."""
        try:
            yield from self._steps(agent, question)
        except TransportError as error:
            raise HandshakeFailed(self._explain(error)) from None
        except ConfigError as error:
            raise HandshakeFailed(str(error)) from None

    def _steps(self, agent: str | None, question: str) -> Iterator[HandshakeFinding]:
        yield from self._check_address()
        agents, response = self._read_agents()
        yield HandshakeFinding(f"GET /agents.json: {', '.join(agents)}.")
        yield from self._check_origin(response, "GET /agents.json")
        yield from self._check_agents(agents)
        name = agent or next(iter(agents))
        if name not in agents:
            raise HandshakeFailed(f"There is no agent {name!r} in /agents.json, only {', '.join(agents)}.")
        query = urljoin(f"{self.base}/", query_of(agents[name]))
        yield from self._check_preflight(query)
        yield from self._check_question(query, question)

    # The address

    def _check_address(self) -> Iterator[HandshakeFinding]:
        parts = urlsplit(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise HandshakeFailed(f"{self.base!r} is not a URL. It should look like http://localhost:8000.")
        if parts.scheme == "https":
            yield from self._check_certificate()
        elif not is_this_machine(parts.hostname):
            yield HandshakeFinding(
                f"A page served over https may not call http://{parts.hostname}: browsers block it as mixed content. "
                "Serve the agent over https, such as behind a reverse proxy with a certificate.",
                True,
            )
        else:
            yield HandshakeFinding(
                "Chrome, Edge and Firefox let Workspace call http on this machine; Safari and Brave do not. "
                "For those, serve with --tls-self-signed."
            )

    def _check_certificate(self) -> Iterator[HandshakeFinding]:
        try:
            self._get("/agents.json")
        except ConnectError as error:
            if not is_about_certificate(error):
                raise
            self._tls = make_unverified_tls()
            yield HandshakeFinding(
                f"Browsers do not trust the certificate. Open {self.base}/agents.json once in the browser and "
                "accept it there before adding the agent; otherwise every call fails without a message."
            )
        else:
            yield HandshakeFinding("The certificate is valid.")

    # Adding the agent

    def _read_agents(self) -> tuple[dict[str, dict[str, Any]], HandshakeResponse]:
        response = self._get("/agents.json")
        if response.status in (401, 403):
            raise HandshakeFailed(f"GET /agents.json: {response.status}, a key is required. Pass one with --header.")
        if response.status != 200:
            cause = f"Is {self.base} the address of a face `openbb`? Its path is part of the address."
            raise HandshakeFailed(f"GET /agents.json: {response.status} instead of 200. {cause}")
        try:
            found = json.loads(response.text)
        except ValueError:
            raise HandshakeFailed(f"GET /agents.json: the response is not JSON. Is {self.base} an agent?") from None
        if not isinstance(found, dict) or not found or not all(isinstance(one, dict) for one in found.values()):
            raise HandshakeFailed("GET /agents.json: it should be an object with an object for each agent.")
        return found, response

    def _check_agents(self, agents: Mapping[str, Mapping[str, Any]]) -> Iterator[HandshakeFinding]:
        for name, agent in agents.items():
            missing = [key for key in ("name", "description", "endpoints", "features") if not agent.get(key)]
            if "endpoints" not in missing and not query_of(agent):
                missing.append("endpoints.query")
            if missing:
                yield HandshakeFinding(
                    f"The agent {name!r} has no {', '.join(missing)}: Workspace will not add it.", True
                )

    def _check_origin(self, response: HandshakeResponse, what: str) -> Iterator[HandshakeFinding]:
        """Whether the page may read the response."""
        allowed = response.headers.get("access-control-allow-origin")
        if allowed in (self.origin, "*"):
            yield HandshakeFinding(f"{what}: pages of {self.origin} may read it.")
            return
        yield HandshakeFinding(
            f"{what}: pages of {self.origin} may not read it ({allowed or 'no Access-Control-Allow-Origin'}). "
            "List the page under `origins` of the face.",
            True,
        )

    # Asking

    def _check_preflight(self, query: str) -> Iterator[HandshakeFinding]:
        names = sorted({*WORKSPACE_HEADERS, *(name.lower() for name in self.headers)})
        path = urlsplit(query).path
        response = self._request(
            "OPTIONS",
            query,
            {
                "access-control-request-method": "POST",
                "access-control-request-headers": ",".join(names),
                PRIVATE_NETWORK_HEADER: "true",
            },
        )
        if response.status not in (200, 204):
            yield HandshakeFinding(f"Preflight of POST {path}: {response.status} {response.text[:80]}.", True)
            return
        yield from self._check_origin(response, f"Preflight of POST {path}")
        allowed = {name.strip().lower() for name in response.headers.get("access-control-allow-headers", "").split(",")}
        if missing := [name for name in names if name not in allowed and "*" not in allowed]:
            yield HandshakeFinding(f"Preflight: the header {', '.join(missing)} may not be sent.", True)
        if response.headers.get("access-control-allow-private-network") != "true":
            yield HandshakeFinding(
                "Preflight: no Access-Control-Allow-Private-Network. Chromium before 142 will not call this machine.",
                True,
            )

    def _check_question(self, query: str, question: str) -> Iterator[HandshakeFinding]:
        body = json.dumps({"messages": [{"role": "human", "content": question}], "timezone": "UTC"})
        headers = {"content-type": "application/json", "x-trace-id": "doctor", "origin": self.origin, **self.headers}
        response = self._request("POST", query, headers, body.encode())
        if response.status in (401, 403):
            yield HandshakeFinding(f"POST: {response.status}, {error_text(response)} Pass a key with --header.", True)
            return
        if response.status != 200:
            yield HandshakeFinding(f"POST: {response.status}, {error_text(response)} Workspace shows no message.", True)
            return
        yield from self._check_origin(response, "POST")
        yield from self._check_stream(response)

    def _check_stream(self, response: HandshakeResponse) -> Iterator[HandshakeFinding]:
        kind = response.headers.get("content-type", "none")
        if not kind.startswith("text/event-stream"):
            yield HandshakeFinding(f"POST: the content type is {kind} instead of text/event-stream.", True)
            return
        exposed = response.headers.get("access-control-expose-headers", "").lower()
        if "x-trace-id" not in exposed:
            yield HandshakeFinding(
                "POST: the page may not read X-Trace-Id, so feedback cannot be matched to its response."
            )
        pieces, text = len(response.pieces), response.text
        try:
            content, failure = "".join(read_chunks(text)), find_error(text)
        except (ValueError, KeyError, TypeError) as error:
            yield HandshakeFinding(f"POST: the response has an event that Workspace cannot parse: {error!r}.", True)
            return
        if failure is not None:
            yield HandshakeFinding(f"POST: the agent responded, but the run failed: {failure}", True)
            return
        if not content.strip():
            yield HandshakeFinding("POST: the response has no text.", True)
            return
        yield HandshakeFinding(f"POST: a response in {pieces} pieces: {content.strip()[:60]!r}")

    def _explain(self, error: TransportError) -> str:
        """The failure of a request, with its likely cause."""
        text = str(error).rstrip(".")
        if "WRONG_VERSION_NUMBER" in text or "record layer failure" in text:
            return f"{self.base} does not serve https. Try http://, or serve with --tls-self-signed."
        if isinstance(error, ConnectError):
            return f"{self.base} cannot be reached: {text}. Is `rightseat serve` running, and at this port?"
        if self.base.startswith("http:") and ("not valid HTTP" in text or "without a response" in text):
            return f"{self.base} does not serve http: {text}. If it was served with --tls-self-signed, try https://."
        return f"{self.base} did not send a complete response: {text}."

    def _get(self, path: str) -> HandshakeResponse:
        return self._request("GET", self.base + path, self.headers)

    def _request(self, method: str, url: str, headers: Headers, body: bytes = b"") -> HandshakeResponse:
        return asyncio.run(self._send(method, url, {"origin": self.origin, **headers}, body))

    async def _send(self, method: str, url: str, headers: Headers, body: bytes) -> HandshakeResponse:
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            client = Client(f"{parts.scheme}://{parts.netloc}", headers, timeout=TIMEOUT_S, tls=self._tls)
            exchange = client.request(method, path, body)
        except ValueError as error:
            raise HandshakeFailed(f"{url}: {error}.") from None
        try:
            async with exchange as response:
                return HandshakeResponse(response.status, response.headers, [piece async for piece in response])
        finally:
            await client.aclose()


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


def error_text(response: HandshakeResponse) -> str:
    try:
        return str(json.loads(response.text).get("message", ""))[:200]
    except (ValueError, AttributeError):
        return response.text[:80]


def query_of(agent: Mapping[str, Any]) -> str:
    endpoints = agent.get("endpoints")
    query = endpoints.get("query") if isinstance(endpoints, dict) else None
    return query if isinstance(query, str) else ""


def read_events(text: str) -> Iterator[tuple[str, Any]]:
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
        if "event" in fields:
            yield fields["event"], json.loads(fields["data"])


def read_chunks(text: str) -> Iterator[str]:
    """The text of a response."""
    return (data["delta"] for name, data in read_events(text) if name == "copilotMessageChunk")


def find_error(text: str) -> str | None:
    """The error that the agent reports in a step of its response."""
    steps = [data for name, data in read_events(text) if name == "copilotStatusUpdate"]
    failed = [step for step in steps if step["eventType"] == "ERROR"]
    return (
        f"{failed[0]['message']}. {json.dumps(failed[0].get('details') or '', ensure_ascii=False)}" if failed else None
    )
