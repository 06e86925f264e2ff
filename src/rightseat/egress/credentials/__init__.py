"""Who asks, for servers that take no key which stays the same: signatures of AWS, tokens that are renewed.

`Credentials` makes the headers of one request. Each cloud has a module of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from rightseat.egress.request import OutgoingRequest


class Credentials(Protocol):
    @property
    def secrets(self) -> Iterable[str]:
        """What must not be found in a text, as of now."""
        ...

    async def headers(self, asked: OutgoingRequest) -> Mapping[str, str]:
        """Those that say who asks. Raises `ModelError` where nobody can say."""
        ...

    def is_expired(self, status: int, text: str) -> bool:
        """Whether a response of 401 or 403 says that the credentials are no longer valid."""
        ...

    def renews(self, refused: Mapping[str, str]) -> bool:
        """The server refused these headers. Will there be others, so that the request is worth sending again?"""
        ...

    async def aclose(self) -> None: ...
