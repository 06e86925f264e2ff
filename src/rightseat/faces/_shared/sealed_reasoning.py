"""Seals reasoning and provider data for clients that keep a conversation themselves.

The client receives opaque text and sends it back in a later request. Only servers with the same key can open it, and a
changed text is refused. AES-SIV needs no random number, so the events of a response are the same when they are sent
again.
"""

import base64
import binascii
from collections.abc import Callable
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from rightseat.access.key_files import load_or_create_key
from rightseat.core.errors import BadRequest
from rightseat.core.types import JsonValue

UNKNOWN_SEAL = (
    "The encrypted content of a reasoning item could not be verified: it was changed, or a server with another key "
    "sealed it. Send the conversation without that item. Several servers behind one address need the same "
    "`reasoning_key` file."
)


class BrokenSeal(BadRequest):
    code = "invalid_encrypted_content"

    def __init__(self) -> None:
        super().__init__(UNKNOWN_SEAL)


Seal = Callable[[JsonValue], str]


class Sealer:
    """The key is read when it is first needed, because most clients never ask for sealed reasoning."""

    def __init__(self, key_file: Path) -> None:
        self._key_file = key_file
        self._cipher: AESSIV | None = None

    def seal(self, value: JsonValue) -> str:
        return base64.urlsafe_b64encode(self._open_cipher().encrypt(msgspec.json.encode(value), None)).decode()

    def unseal(self, text: str) -> JsonValue:
        """Raises `BrokenSeal`."""
        try:
            sealed = base64.b64decode(text.encode(), b"-_", validate=True)
            opened: JsonValue = msgspec.json.decode(self._open_cipher().decrypt(sealed, None))
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise BrokenSeal from error
        return opened

    def _open_cipher(self) -> AESSIV:
        if self._cipher is None:
            derive = HKDF(SHA256(), 64, salt=None, info=b"rightseat sealed reasoning").derive
            self._cipher = AESSIV(derive(load_or_create_key(self._key_file)))
        return self._cipher
