"""Fetches tokens of Microsoft Entra ID for models on Azure, using azure-identity.

azure-identity is imported with the first token and runs in a thread. Each token is requested with a new credential
object: an old one would return a rejected token again, and reads the token file of a pod only every ten minutes.
"""

import logging
import re
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.errors import ModelError, ModelRefusedKey, ModelUnreachable
from rightseat.egress.credentials.cache import BearerCredentials, Token, is_sendable
from rightseat.egress.credentials.library import FETCH_TIMEOUT_S, call_in_thread, require, summarize_error
from rightseat.egress.options import BaseUrl

logger = logging.getLogger(__name__)

EntraSource = Literal["environment", "workload_identity", "managed_identity", "cli"]

TAKES: dict[EntraSource | None, tuple[str, ...]] = {
    "environment": ("authority",),
    "workload_identity": ("tenant", "client_id", "authority"),
    "managed_identity": ("client_id",),
    "cli": ("tenant",),
    None: ("client_id",),
}
CURES: dict[EntraSource | Literal["secret"] | None, str] = {
    "secret": "Check `tenant`, `client_id`, `scope` and `client_secret` of `entra`: a secret may have expired.",
    "environment": "Check AZURE_TENANT_ID, AZURE_CLIENT_ID, and AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE_PATH.",
    "workload_identity": "Check that the pod has the label azure.workload.identity/use, and its service account a "
    "federated credential in Entra ID.",
    "managed_identity": "Check that the machine, app or container has a managed identity, and that `client_id` of "
    "`entra`, if set, is one of its identities.",
    "cli": "Run `az login` as the user of the server process.",
    None: "Assign a managed or workload identity, set AZURE_TENANT_ID, AZURE_CLIENT_ID and "
    "AZURE_CLIENT_SECRET, or configure `tenant`, `client_id` and `client_secret` in `entra`.",
}
NO_TOKEN = "Microsoft Entra ID issued no token for the model"  # noqa: S105 - a sentence
REQUESTS = {"connection_timeout": 5, "read_timeout": 10, "retry_total": 2}
"""Settings of each request, so that a fetch ends within FETCH_TIMEOUT_S."""
NOT_FOR_SERVERS = ("shared_token_cache", "visual_studio_code", "powershell", "broker")
"""Credentials of desktop applications, which azure-identity would also try."""


class EntraOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    tenant: str | None = Field(default=None, pattern=r"^[A-Za-z0-9.-]+$")
    """The tenant (directory): its id, or one of its domains."""
    client_id: str | None = None
    """The client id of the application, or of one of the machine's managed identities."""
    client_secret: SecretStr | None = None
    """A client secret of the application: its value, not its id."""
    credential: EntraSource | None = None
    """The type of credentials to use without a `client_secret`. Default: the first that is available, in the order
    `environment` (`AZURE_CLIENT_SECRET` or `AZURE_CLIENT_CERTIFICATE_PATH`), `workload_identity` (AKS),
    `managed_identity` (virtual machine, App Service, Container Apps, Arc), `cli` (`az login`)."""
    scope: str = "https://cognitiveservices.azure.com/.default"
    """The scope of the token."""
    authority: BaseUrl | None = None
    """The `https://` URL of the authority that issues tokens; national clouds have their own. Default:
    `AZURE_AUTHORITY_HOST`, or `https://login.microsoftonline.com` if that is not set."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        for text in self._problems():
            raise PydanticCustomError("entra", "{text}", {"text": text})
        return self

    def _problems(self) -> Iterator[str]:
        if self.authority is not None and not self.authority.startswith("https://"):
            yield "`authority` must begin with https://"
        given = [name for name in ("tenant", "client_id", "authority") if getattr(self, name)]
        if self.client_secret is not None and self.credential is not None:
            yield "set either `client_secret` or `credential`, not both"
        elif self.client_secret is not None:
            if lacking := [f"`{name}`" for name in ("tenant", "client_id") if name not in given]:
                yield f"`client_secret` needs {' and '.join(lacking)}"
        elif wrong := [f"`{name}`" for name in given if name not in TAKES[self.credential]]:
            what = f"`credential: {self.credential}`" if self.credential else "`entra` without a `client_secret`"
            yield f"{what} does not use {' and '.join(wrong)}"


def credentials(options: EntraOptions) -> BearerCredentials:
    """Raises `ConfigError` if azure-identity is not installed."""
    require("azure.identity", "`entra`", "azure")
    source = _Source(options)
    return BearerCredentials(source.fetch, (source.secret,))


class _Source:
    def __init__(self, options: EntraOptions) -> None:
        self._options = options
        self.secret = options.client_secret.get_secret_value() if options.client_secret else ""
        self._cure = CURES["secret" if self.secret else options.credential]

    async def fetch(self) -> Token[str]:
        """Microsoft's error messages only go to the server's log, because they may contain confidential details."""
        try:
            return await call_in_thread(self._ask)
        except TimeoutError:
            logger.warning("No token of Entra ID within %g s", FETCH_TIMEOUT_S)
            raise ModelUnreachable(f"{NO_TOKEN}: no response within {FETCH_TIMEOUT_S:g} s.") from None

    def _ask(self) -> Token[str]:
        errors = import_module("azure.core.exceptions")
        try:
            with self._credential() as credential:
                given = credential.get_token(self._options.scope)
        except (errors.AzureError, OSError, ValueError) as error:
            logger.warning("No token of Entra ID: %s", summarize_error(error, (self.secret,)))
            raise self._explain(error) from None
        if not is_sendable(given.token):
            logger.warning("Entra ID sent a token that cannot be used in a header")
            raise ModelUnreachable("Microsoft Entra ID sent no valid token. Check `authority` of `entra`.")
        return Token(given.token, given.expires_on - time.time())

    def _credential(self) -> Any:
        identity = import_module("azure.identity")
        options = self._options
        named: dict[str, Any] = {"tenant_id": options.tenant, "client_id": options.client_id}
        if options.authority:  # trusted by the operator, so not checked with Microsoft
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
            return ModelUnreachable(f"{NO_TOKEN}: it cannot be reached, or it failed. The server's log has the reason.")
        code = re.search(r"AADSTS\d+", str(error))
        return ModelRefusedKey(f"{NO_TOKEN}{f' ({code[0]})' if code else ''}. {self._cure}")


def is_temporary(error: BaseException | None) -> bool:
    """Check the error's causes: azure-identity reports every error, even of the server, as failed authentication."""
    if isinstance(error, import_module("azure.identity").CredentialUnavailableError):
        return False  # this machine has no such credential
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
