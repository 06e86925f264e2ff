"""Tokens of Microsoft Entra ID, for models on Azure: of an application with a secret, or of the machine itself."""

import time
from collections.abc import Callable
from typing import Self
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.egress.credentials.granting import Granter
from rightseat.egress.credentials.renewing import Bearer, Token
from rightseat.egress.options import Address

WHAT = "Microsoft Entra ID"
ADVICE = {
    "invalid_client": "Check `client_secret`, which may have expired, and `client_id` of `entra`.",
    "unauthorized_client": "Check `client_id` and `tenant` of `entra`.",
    "invalid_request": "Check `tenant`, `client_id` and `scope` of `entra`.",
    "invalid_scope": "Check `scope` of `entra`.",
    "invalid_resource": "Check `scope` of `entra`.",
    "": "Check `tenant`, `client_id`, `client_secret` and `scope` of `entra`.",
}
MANAGED = {
    "": "Check that this machine has a managed identity, and that `client_id` of `entra`, where given, is one of its."
}


class EntraOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    tenant: str | None = Field(default=None, pattern=r"^[A-Za-z0-9.-]+$")
    """The directory: its id, or a domain of it."""
    client_id: str | None = None
    """The id of the application, or of one among several identities of the machine."""
    client_secret: SecretStr | None = None
    """A secret of the application: its value, not its id."""
    managed: bool = False
    """Ask the machine for its managed identity, as virtual machines of Azure have one. It needs no secret."""
    scope: str = "https://cognitiveservices.azure.com/.default"
    """What the token is for."""
    authority: Address | None = None
    """Who gives tokens: left out, `https://login.microsoftonline.com`, or for a managed identity
    `http://169.254.169.254`. National clouds have their own."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        needed = () if self.managed else ("tenant", "client_id", "client_secret")
        lacking = [f"`{name}`" for name in needed if not getattr(self, name)]
        if lacking:
            text = f"Entra ID needs {', '.join(lacking)}, or `managed: true` on a machine with a managed identity"
            raise PydanticCustomError("entra", "{text}", {"text": text})
        if self.managed and (self.tenant or self.client_secret):
            text = "a managed identity has no `tenant` and no `client_secret`: leave them out, or `managed`"
            raise PydanticCustomError("entra", "{text}", {"text": text})
        return self


def credentials(options: EntraOptions, clock: Callable[[], float] = time.monotonic) -> Bearer:
    return _machine(options, clock) if options.managed else _application(options, clock)


def _application(options: EntraOptions, clock: Callable[[], float]) -> Bearer:
    secret = options.client_secret.get_secret_value() if options.client_secret else ""
    granter = Granter(WHAT, ADVICE, (secret,))
    authority = (options.authority or "https://login.microsoftonline.com").rstrip("/")
    form = {
        "grant_type": "client_credentials",
        "client_id": options.client_id or "",
        "client_secret": secret,
        "scope": options.scope,
    }

    async def fetch() -> Token:
        return await granter.grant(f"{authority}/{options.tenant}/oauth2/v2.0/token", form)

    return Bearer(fetch, (secret,), clock)


def _machine(options: EntraOptions, clock: Callable[[], float]) -> Bearer:
    granter = Granter("The machine's managed identity", MANAGED)
    authority = (options.authority or "http://169.254.169.254").rstrip("/")
    query = {"api-version": "2018-02-01", "resource": options.scope.removesuffix("/.default")}
    if options.client_id:
        query["client_id"] = options.client_id

    async def fetch() -> Token:
        url = f"{authority}/metadata/identity/oauth2/token?{urlencode(query)}"
        return await granter.look(url, {"metadata": "true"})

    return Bearer(fetch, (), clock)
