"""Tokens of Microsoft Entra ID, for models on Azure: azure-identity finds the credentials and asks for the token.

It is imported with the first token and works in a thread. Each token is asked for with new credentials: old ones would
give a token again that a server has refused, and read the token file of a pod only once in ten minutes.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.errors import ModelError, ModelRefusedKey, ModelUnreachable
from rightseat.egress.credentials.library import FETCH_TIMEOUT_S, call_in_thread, in_one_line, require
from rightseat.egress.credentials.renewing import Bearer, Token, is_sendable
from rightseat.egress.options import Address

logger = logging.getLogger(__name__)

Kind = Literal["environment", "workload_identity", "managed_identity", "cli"]

TAKES: dict[Kind | None, tuple[str, ...]] = {
    "environment": ("authority",),
    "workload_identity": ("tenant", "client_id", "authority"),
    "managed_identity": ("client_id",),
    "cli": ("tenant",),
    None: ("client_id",),
}
CURES: dict[Kind | Literal["secret"] | None, str] = {
    "secret": "Check `tenant`, `client_id`, `scope` and `client_secret` of `entra`: a secret may have expired.",
    "environment": "Check AZURE_TENANT_ID, AZURE_CLIENT_ID, and AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE_PATH.",
    "workload_identity": "Check that the pod has the label azure.workload.identity/use, and its service account a "
    "federated credential in Entra ID.",
    "managed_identity": "Check that the machine, app or container has a managed identity, and that `client_id` of "
    "`entra`, where given, is one of its.",
    "cli": "Run `az login` as the user that the server runs as.",
    None: "Give the server a managed or workload identity, set AZURE_TENANT_ID, AZURE_CLIENT_ID and "
    "AZURE_CLIENT_SECRET, or name `tenant`, `client_id` and `client_secret` in `entra`.",
}
NO_TOKEN = "Microsoft Entra ID gives the server no token for its model"  # noqa: S105 - a sentence
REQUESTS = {"connection_timeout": 5, "read_timeout": 10, "retry_total": 2}
"""Of each request, so that a token comes or fails within FETCH_TIMEOUT_S."""
NOT_FOR_SERVERS = ("shared_token_cache", "visual_studio_code", "powershell", "broker")
"""Credentials of a person's desktop, which azure-identity would look for, too."""


class EntraOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    tenant: str | None = Field(default=None, pattern=r"^[A-Za-z0-9.-]+$")
    """The directory: its id, or a domain of it."""
    client_id: str | None = None
    """The id of the application, or of one among several identities of the machine."""
    client_secret: SecretStr | None = None
    """A secret of the application: its value, not its id."""
    credential: Kind | None = None
    """Which credentials are used, where there is no `client_secret`. Left out, the first that there are, in the order
    `environment` (`AZURE_CLIENT_SECRET` or `AZURE_CLIENT_CERTIFICATE_PATH`), `workload_identity` (AKS),
    `managed_identity` (virtual machine, App Service, Container Apps, Arc), `cli` (`az login`)."""
    scope: str = "https://cognitiveservices.azure.com/.default"
    """What the token is for."""
    authority: Address | None = None
    """Who gives tokens: left out, `AZURE_AUTHORITY_HOST`, else `https://login.microsoftonline.com`. National clouds
    have their own. It begins with `https://`."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        for text in self._problems():
            raise PydanticCustomError("entra", "{text}", {"text": text})
        return self

    def _problems(self) -> Iterator[str]:
        if self.authority is not None and not self.authority.startswith("https://"):
            yield "`authority` of Entra ID begins with https://"
        given = [name for name in ("tenant", "client_id", "authority") if getattr(self, name)]
        if self.client_secret is not None and self.credential is not None:
            yield "there are `client_secret` and `credential`; one of them is meant"
        elif self.client_secret is not None:
            if lacking := [f"`{name}`" for name in ("tenant", "client_id") if name not in given]:
                yield f"`client_secret` needs {' and '.join(lacking)}"
        elif wrong := [f"`{name}`" for name in given if name not in TAKES[self.credential]]:
            what = f"`credential: {self.credential}`" if self.credential else "`entra` without a `client_secret`"
            yield f"{what} takes no {' and no '.join(wrong)}"


def credentials(options: EntraOptions, clock: Callable[[], float] = time.monotonic) -> Bearer:
    """Raises `ConfigError` where azure-identity is not installed."""
    require("azure.identity", "`entra`", "azure")
    source = _Source(options)
    return Bearer(source.fetch, (source.secret,), clock)


class _Source:
    def __init__(self, options: EntraOptions) -> None:
        self._options = options
        self.secret = options.client_secret.get_secret_value() if options.client_secret else ""
        self._cure = CURES["secret" if self.secret else options.credential]

    async def fetch(self) -> Token[str]:
        """Microsoft's words go to our log alone: they may hold more than a client should see."""
        try:
            return await call_in_thread(self._ask)
        except TimeoutError:
            logger.warning("No token of Entra ID within %g s", FETCH_TIMEOUT_S)
            raise ModelUnreachable(f"{NO_TOKEN}: none came within {FETCH_TIMEOUT_S:g} s.") from None

    def _ask(self) -> Token[str]:
        errors = import_module("azure.core.exceptions")
        try:
            with self._credential() as credential:
                given = credential.get_token(self._options.scope)
        except (errors.AzureError, OSError, ValueError) as error:
            logger.warning("No token of Entra ID: %s", in_one_line(error, (self.secret,)))
            raise self._explain(error) from None
        if not is_sendable(given.token):
            logger.warning("Entra ID answered with a token that cannot be sent")
            raise ModelUnreachable("Microsoft Entra ID answered with something else than a token.")
        return Token(given.token, given.expires_on - time.time())

    def _credential(self) -> Any:
        identity = import_module("azure.identity")
        options = self._options
        named: dict[str, Any] = {"tenant_id": options.tenant, "client_id": options.client_id}
        if options.authority:  # the operator vouches for it: it is not looked up at Microsoft's
            named |= {"authority": options.authority, "disable_instance_discovery": True}
        named = REQUESTS | {name: value for name, value in named.items() if value is not None}
        if self.secret:
            return identity.ClientSecretCredential(client_secret=self.secret, **named)
        if options.credential == "environment":
            return identity.EnvironmentCredential(**named)
        if options.credential == "workload_identity":
            return identity.WorkloadIdentityCredential(**named)
        if options.credential == "managed_identity":
            return identity.ManagedIdentityCredential(**named)
        if options.credential == "cli":
            return identity.AzureCliCredential(**({"tenant_id": options.tenant} if options.tenant else {}))
        if options.client_id:
            named["managed_identity_client_id"] = named.pop("client_id")
        return identity.DefaultAzureCredential(
            **named, **{f"exclude_{name}_credential": True for name in NOT_FOR_SERVERS}
        )

    def _explain(self, error: Exception) -> ModelError:
        if is_temporary(error):
            return ModelUnreachable(f"{NO_TOKEN}: it cannot be reached, or fails. The server's log says why.")
        code = re.search(r"AADSTS\d+", str(error))
        return ModelRefusedKey(f"{NO_TOKEN}{f' ({code[0]})' if code else ''}. {self._cure}")


def is_temporary(error: BaseException | None) -> bool:
    """azure-identity reports everything as failed authentication; whether the server failed is in the cause."""
    if isinstance(error, import_module("azure.identity").CredentialUnavailableError):
        return False  # this machine has none of that kind
    errors = import_module("azure.core.exceptions")
    failures = (
        errors.ServiceRequestError,
        errors.ServiceResponseError,
        import_module("msal.exceptions").MsalServiceError,
    )
    while error is not None and not isinstance(error, failures):
        status = getattr(error, "status_code", None) or 0
        if status >= 500 or status == 429:
            return True
        error = error.__cause__
    return error is not None
