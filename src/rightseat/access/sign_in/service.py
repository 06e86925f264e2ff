"""Begins and finishes sign-ins, and opens the session of the user. Knows the addresses, but sends no response."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rightseat.access.scopes import AuthenticatedUser
from rightseat.access.sessions import Sessions
from rightseat.access.sign_in.attempt import SignInAttempt


class IdentityProvider(Protocol):
    """`provider.OpenIdProvider`, which is imported only if the configuration has one."""

    async def begin(self) -> tuple[str, SignInAttempt]: ...

    async def finish(self, attempt: SignInAttempt, response: Mapping[str, str]) -> AuthenticatedUser: ...

    async def find_sign_out_url(self, return_url: str) -> str | None: ...


class EncryptsAttempts(Protocol):
    """`cipher.AttemptCipher`."""

    def encrypt(self, attempt: SignInAttempt) -> str: ...

    def decrypt(self, cookie: str) -> SignInAttempt: ...


@dataclass(frozen=True, slots=True)
class SignInAddresses:
    """`path` is that of the routes; `public_url`, of the configuration, is the only base of absolute addresses."""

    public_url: str
    path: str
    console_path: str

    @property
    def start_url(self) -> str:
        return f"{self.public_url}{self.path}/start"

    @property
    def callback_url(self) -> str:
        return f"{self.public_url}{self.path}/callback"

    @property
    def console_url(self) -> str:
        return f"{self.public_url}{self.console_path}/"


@dataclass(frozen=True, slots=True)
class SignIn:
    """`rules` identifies the provider and its grants: see `grants.digest_rules`."""

    name: str
    provider: IdentityProvider
    addresses: SignInAddresses
    cipher: EncryptsAttempts
    sessions: Sessions
    rules: str

    async def begin(self) -> tuple[str, str]:
        """The address at the provider, and the value of the attempt's cookie. Raises `SignInRefused`."""
        url, attempt = await self.provider.begin()
        return url, self.cipher.encrypt(attempt)

    async def finish(self, cookie: str, response: Mapping[str, str]) -> tuple[AuthenticatedUser, str]:
        """The user, and the value of the session's cookie. Raises `Unauthenticated`."""
        user = await self.provider.finish(self.cipher.decrypt(cookie), response)
        return user, self.sessions.open_for_person(user, self.rules)

    async def find_sign_out_url(self) -> str | None:
        """Raises `SignInRefused`."""
        return await self.provider.find_sign_out_url(self.addresses.console_url)
