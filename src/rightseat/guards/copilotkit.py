"""CopilotKit's guardrails service, or one that speaks like it: it judges the questions of clients that want it to."""

from typing import Any, Self

import msgspec
from pydantic import ConfigDict, Field, SecretStr

from rightseat.core.ask import Ask
from rightseat.core.errors import Denied, GuardFailed
from rightseat.core.guard import Guard, Passive, question_of
from rightseat.core.messages import Message
from rightseat.core.values import JSON_ERRORS
from rightseat.egress.client import Client, Unreachable
from rightseat.egress.network import NetworkOptions
from rightseat.parts import Parts

LARGEST = 65_536  # bytes of a verdict


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "copilotkit"
    """What the guard is called in the run and in the server's log."""
    url: str = "https://api.cloud.copilotkit.ai"
    """Where the service is. The question and the messages before it are sent there."""
    api_key: SecretStr | None = None
    """The key for the service. Left out: the public key that the client sends with its request."""
    timeout: float = Field(default=8.0, gt=0)
    """Seconds until a service that is silent has failed."""


def build(options: Options, parts: Parts) -> Guard:
    return Service(options)


class Service(Passive):
    judges_topics = True
    judges_earlier = False  # its clients send it one question at a time, and pay for each

    def __init__(self, options: Options) -> None:
        self.name = options.name
        self._key = options.api_key
        self._client = Client(options.url, {}, timeout=options.timeout, network=options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def check_question(self, ask: Ask) -> None:
        question = question_of(ask)
        if ask.topics is None or not question:
            return
        body = {
            "input": question,
            "validTopics": ask.topics.allow,
            "invalidTopics": ask.topics.deny,
            "messages": [written(message) for message in ask.messages[:-1] if message.text],
        }
        key = self._key.get_secret_value() if self._key else ask.topics.key
        verdict = await self._ask(msgspec.json.encode(body), {"x-copilotcloud-public-api-key": key} if key else {})
        match verdict:
            case {"status": "allowed"}:
                return
            case {"status": "denied", **rest}:
                raise Denied(str(rest.get("reason") or "The question is not allowed."))
            case _:
                raise GuardFailed("The guardrails service gave no verdict.")

    async def _ask(self, body: bytes, headers: dict[str, str]) -> Any:
        try:
            async with self._client.post("/guardrails/validate", body, headers) as response:
                said = bytearray()
                async for piece in response:
                    said += piece
                    if len(said) > LARGEST:
                        raise GuardFailed("The guardrails service says more than a verdict.")
        except Unreachable as error:
            raise GuardFailed(f"The guardrails service cannot be reached. {error}") from error
        if response.status != 200:
            raise GuardFailed(f"The guardrails service answers with the status {response.status}.")
        try:
            return msgspec.json.decode(bytes(said))
        except JSON_ERRORS:
            raise GuardFailed("The guardrails service gave no verdict.") from None


def written(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.text}
