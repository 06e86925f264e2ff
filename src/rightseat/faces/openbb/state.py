"""What we need to know again when a function call's result comes: sent along with the call, given back by a browser.

So it is signed. It travels as one text, because a browser may write an object's keys and numbers anew, and no text.
"""

import base64
import hmac
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import BadAsk, ConfigError
from rightseat.core.messages import Message
from rightseat.parts import private_folder

FIELD = "rightseat"
LARGEST = 2**20
"""Bytes that a state may have when it is unpacked."""

_decoder_failures = (msgspec.DecodeError, msgspec.ValidationError, ValueError, zlib.error)


class Made(msgspec.Struct, frozen=True, array_like=True):
    """A call that the model made: its id, the tool, and the arguments as the model wrote them."""

    id: str
    name: str
    arguments: str


class Request(msgspec.Struct, frozen=True, array_like=True):
    """A function call on the wire. `answers[i]` are the calls of the model that `data[i]` is the result of."""

    function: str
    arguments: dict[str, Any]
    answers: tuple[tuple[str, ...], ...]


class State(msgspec.Struct, frozen=True):
    """`calls` are all of one answer of the model, `now` is the request that this state goes with, `queue` what follows.

    `before` is what tools of the server were asked for this question, and said, before the client was.
    """

    agent: str
    calls: tuple[Made, ...] = ()
    now: tuple[tuple[str, ...], ...] = ()
    queue: tuple[Request, ...] = ()
    before: tuple[Message, ...] = ()
    asked: int = 0
    """How often the model was asked for this question."""
    made: int = 0
    """How many function calls were made for it, this one included."""
    timezone: str | None = None
    skills: tuple[dict[str, Any], ...] = ()
    """What the user chose for the question: like the time zone, Workspace sends it with the first request alone."""


class FalseState(BadAsk):
    code = "false_state"

    def __init__(self) -> None:
        super().__init__(
            "The state that came back with a result is not the one that was sent. Ask your question once more."
        )


class Seal:
    """Signs states and knows them again. The key is made once and kept in a file, unless one is given."""

    def __init__(self, path: Path, secret: str | None = None) -> None:
        self._path = path
        self._key = secret.encode() if secret else b""

    def close(self, state: State) -> dict[str, str]:
        packed = zlib.compress(msgspec.json.encode(state), 1)
        return {FIELD: base64.urlsafe_b64encode(self._sign(packed) + packed).decode()}

    def open(self, given: Mapping[str, Any], agent: str) -> State | None:
        """None where there is none: the client lost it. Raises `FalseState` where it is not ours, or for another."""
        if not given:
            return None
        try:
            raw = base64.b64decode(given[FIELD], b"-_", validate=True)
            signature, packed = raw[:32], raw[32:]
            if not hmac.compare_digest(signature, self._sign(packed)):
                raise FalseState
            state = msgspec.json.decode(unpacked(packed), type=State)
        except (KeyError, TypeError, *_decoder_failures):
            raise FalseState from None
        if state.agent != agent:
            raise FalseState
        return state

    def _sign(self, packed: bytes) -> bytes:
        if not self._key:
            self._key = kept_key(self._path)
        return hmac.digest(self._key, packed, "sha256")


def unpacked(packed: bytes) -> bytes:
    """It is signed, so it is ours; a limit does not trust even that."""
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(packed, LARGEST)
    if not unpacker.eof:
        raise ValueError("larger than any state of ours")
    return found


def kept_key(path: Path) -> bytes:
    """Whoever comes first makes it; processes that share the folder share the key."""
    private_folder(path.parent)
    try:
        with suppress(FileExistsError):
            fresh = path.with_name(f"{path.name}.{os.getpid()}")
            fresh.touch(mode=0o600)
            fresh.write_bytes(os.urandom(32))
            try:
                os.link(fresh, path)  # whole or not at all, and never over another's
            finally:
                fresh.unlink()
        key = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"The key that signs states cannot be kept in {path}: {error.strerror}.") from error
    if len(key) < 32:
        raise ConfigError(f"The key that signs states is broken. Delete {path}, and a new one is made.")
    return key
