"""A guard that calls CopilotKit's guardrails service, for clients that request it."""

from typing import Any, Self

import msgspec
from pydantic import ConfigDict, Field, SecretStr

from rightseat.core.ask import Ask
from rightseat.core.errors import GuardDenied, GuardFailed
from rightseat.core.guard import BaseGuard, Guard, question_text
from rightseat.core.messages import Message
from rightseat.core.types import JSON_ERRORS
from rightseat.egress.client import Client
from rightseat.egress.network import NetworkOptions
from rightseat.egress.transport import TransportError
from rightseat.parts import Parts

MAX_VERDICT_BYTES = 65_536  # bytes of a verdict


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "copilotkit"
    """The name of the guard in events and in the server log."""
    url: str = "https://api.cloud.copilotkit.ai"
    """The URL of the service. It receives the question and the messages before it."""
    api_key: SecretStr | None = None
    """The API key of the service. Default: the public key in the client's request."""
    timeout: float = Field(default=8.0, gt=0)
    """Seconds to wait for a response of the service."""


def build(options: Options, parts: Parts) -> Guard:
    return GuardrailsGuard(options)


class GuardrailsGuard(BaseGuard):
    checks_topics = True
    checks_history = False  # the service takes one question per request, and each is paid for

    def __init__(self, options: Options) -> None:
        self.name = options.name
        self._key = options.api_key
        self._client = Client(options.url, {}, timeout=options.timeout, network=options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def check_question(self, ask: Ask) -> None:
        question = question_text(ask)
        if ask.topics is None or not question:
            return
        body = {
            "input": question,
            "validTopics": ask.topics.allow,
            "invalidTopics": ask.topics.deny,
            "messages": [write_message(message) for message in ask.messages[:-1] if message.text],
        }
        key = self._key.get_secret_value() if self._key else ask.topics.key
        verdict = await self._ask(msgspec.json.encode(body), {"x-copilotcloud-public-api-key": key} if key else {})
        match verdict:
            case {"status": "allowed"}:
                return
            case {"status": "denied", **rest}:
                raise GuardDenied(str(rest.get("reason") or "Sorry, I can't help with that question."))
            case _:
                raise GuardFailed("The guardrails service returned no verdict.")

    async def _ask(self, body: bytes, headers: dict[str, str]) -> Any:
        try:
            async with self._client.post("/guardrails/validate", body, headers) as response:
                content = bytearray()
                async for piece in response:
                    content += piece
                    if len(content) > MAX_VERDICT_BYTES:
                        raise GuardFailed("The response of the guardrails service is too long.")
        except TransportError as error:
            raise GuardFailed(f"Cannot reach the guardrails service: {error}") from error
        if response.status != 200:
            raise GuardFailed(f"The guardrails service returned HTTP {response.status}.")
        try:
            return msgspec.json.decode(bytes(content))
        except JSON_ERRORS:
            raise GuardFailed("The guardrails service returned no verdict.") from None


def write_message(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.text}
