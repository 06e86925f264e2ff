"""Authenticates requests to cloud providers with AWS signatures or renewable tokens, one module per cloud."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from rightseat.egress.request import OutgoingRequest


class Credentials(Protocol):
    @property
    def secrets(self) -> Iterable[str]:
        """The current secrets, for redaction."""
        ...

    async def headers(self, request: OutgoingRequest) -> Mapping[str, str]:
        """Return the authentication headers of a request. Raises `ModelError` if there are no credentials."""
        ...

    def is_expired(self, status: int, text: str) -> bool:
        """Return whether a response of 401 or 403 means that the credentials have expired."""
        ...

    def discard_refused(self, refused: Mapping[str, str]) -> bool:
        """Drop the credentials behind these headers. Returns whether a retry would use new ones."""
        ...

    async def aclose(self) -> None: ...
