"""Encrypts the cookie of a sign-in in progress. A module of its own, because `cryptography` is a large import."""

from base64 import urlsafe_b64encode

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from rightseat.access.sign_in.attempt import ATTEMPT_S, NOT_BEGUN, SignInAttempt
from rightseat.access.sign_in.refusal import SignInRefused


class AttemptCipher:
    """`purpose` names the provider and the client: an attempt of another one cannot be decrypted."""

    def __init__(self, secret: bytes, purpose: str) -> None:
        key = HKDF(SHA256(), 32, None, f"rightseat sign-in {purpose}".encode()).derive(secret)
        self._fernet = Fernet(urlsafe_b64encode(key))

    def encrypt(self, attempt: SignInAttempt) -> str:
        return self._fernet.encrypt(msgspec.json.encode(attempt)).decode()

    def decrypt(self, cookie: str) -> SignInAttempt:
        """Raises `SignInRefused`, also for an attempt that is older than `ATTEMPT_S`."""
        try:
            return msgspec.json.decode(self._fernet.decrypt(cookie.encode(), ttl=ATTEMPT_S), type=SignInAttempt)
        except InvalidToken:
            raise SignInRefused("expired", NOT_BEGUN) from None
