"""A token endpoint that is asked for a token, and what it says instead of one."""

import logging
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import msgspec

from rightseat.core.errors import AddressForbidden, ModelRefusedKey, ModelUnreachable
from rightseat.egress.addresses import Policy, read_url
from rightseat.egress.credentials.renewing import Token
from rightseat.egress.door import Door, Incoming, Limits, Outgoing, Unanswered

logger = logging.getLogger(__name__)

LIMITS = Limits(size=2**20, seconds=30.0, silence=30.0)
UNSAID = 300.0  # seconds that a token lasts of which its server does not say it
SAID = 500  # characters of a server's own words that are logged


class Granter:
    """`what` is what people call it. `advice` says of each error what to check; of the others, what `""` has."""

    def __init__(self, what: str, advice: Mapping[str, str], secrets: Sequence[str] = (), door: Door | None = None):
        self._what = what
        self._advice = advice
        self._secrets = [secret for secret in secrets if secret]
        self._door = door or Door()

    async def grant(self, url: str, form: Mapping[str, str]) -> Token:
        """Raises `ModelRefusedKey` and `ModelUnreachable`. What the server says goes to our log alone."""
        body = urlencode(form).encode()
        headers = (("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json"))
        return await self._ask(Outgoing("POST", read_url(url), headers, (body,), len(body)))

    async def look(self, url: str, headers: Mapping[str, str]) -> Token:
        """The same, of a server that knows already who asks: one that a cloud has for its own machines."""
        return await self._ask(Outgoing("GET", read_url(url), tuple(headers.items())))

    async def _ask(self, outgoing: Outgoing) -> Token:
        where = outgoing.target.url.partition("?")[0]
        try:
            incoming = await send(self._door, outgoing)
        except (Unanswered, AddressForbidden) as error:
            logger.warning("%s gives no token: %s", where, error)
            raise ModelUnreachable(
                f"{self._what} cannot be reached for a token for the model. The server's log says why."
            ) from error
        if incoming.status == 200:
            return self._read(where, incoming.content)
        raise self._refusal(where, incoming)

    def _read(self, where: str, content: bytes) -> Token:
        try:
            given = msgspec.json.decode(content, type=_Given)
            lasts = UNSAID if given.expires_in is None else float(given.expires_in)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
            given, lasts = _Given(""), 0.0
        if not given.access_token.isascii() or not given.access_token.isprintable() or len(given.access_token) < 4:
            logger.warning("%s answered 200, with no token that can be sent", where)
            raise ModelUnreachable(f"{self._what} answered with something else than a token.")
        return Token(given.access_token, lasts)

    def _refusal(self, where: str, incoming: Incoming) -> ModelRefusedKey | ModelUnreachable:
        try:
            said = msgspec.json.decode(incoming.content, type=_Refused)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            said = _Refused("", incoming.content[:SAID].decode("utf-8", "replace"))
        words = f"{said.error}: {said.error_description}" if said.error else said.error_description
        logger.warning("%s answered %d: %s", where, incoming.status, self._covered(words))
        if incoming.status >= 500 or incoming.status == 429:
            return ModelUnreachable(f"{self._what} gives no token right now (HTTP {incoming.status}).")
        error = self._covered(said.error)[:60]
        advice = self._advice.get(said.error) or self._advice[""]
        said_error = f"HTTP {incoming.status}, {error}" if error else f"HTTP {incoming.status}"
        return ModelRefusedKey(f"{self._what} gives the server no token for its model ({said_error}). {advice}")

    def _covered(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return " ".join(text.split())[:SAID]


async def send(door: Door, outgoing: Outgoing) -> Incoming:
    """To an address that the operator named, or the operator's cloud, wherever it is."""
    target = outgoing.target
    host = f"[{target.host}]" if ":" in target.host else target.host
    return await door.send(outgoing, Policy(allow=(f"{host}:{target.port}",)), LIMITS)


class _Given(msgspec.Struct):
    access_token: str
    expires_in: float | str | None = None


class _Refused(msgspec.Struct):
    error: str
    error_description: str = ""
