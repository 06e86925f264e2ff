"""Signs requests to AWS with configured keys or with credentials that botocore finds.

botocore searches the environment, the profiles of `~/.aws` (keys, assumed roles, SSO, programs), the web identity of a
pod (IRSA), the endpoint of a container (ECS, EKS pod identity) and the role of the instance (EC2). It is imported with
the first request and runs in a thread. Each renewal repeats the search, so files may be replaced.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.errors import ModelError, ModelRefusedKey, ModelUnreachable
from rightseat.egress.credentials.cache import Token, TokenCache
from rightseat.egress.credentials.library import FETCH_TIMEOUT_S, call_in_thread, require, summarize_error
from rightseat.egress.credentials.sigv4 import AwsKeys, sign
from rightseat.egress.options import HeaderSecret
from rightseat.egress.request import OutgoingRequest

logger = logging.getLogger(__name__)

STATIC_SECONDS = 120.0  # keys without an expiry are looked up again after this time: a tool may have replaced them
CLIENT = {"connect_timeout": 5, "read_timeout": 10, "retries": {"total_max_attempts": 2}}
"""Settings of requests to STS and SSO, so that they end within FETCH_TIMEOUT_S."""

NO_CREDENTIALS = "rightseat found no AWS credentials for the model"
CURES = {
    "ProfileNotFound": "The profile is in neither ~/.aws/config nor ~/.aws/credentials. Check `profile` of `aws`, and "
    "AWS_PROFILE.",
    "ConfigParseError": "A file in ~/.aws cannot be parsed. The server's log names it.",
    "PartialCredentialsError": "The access key or the secret key is missing. Set both AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or both keys of the profile.",
    "SSOError": "The SSO session has expired. Run `aws sso login` with the profile.",
    "TokenRetrievalError": "The SSO session has expired. Run `aws sso login` with the profile.",
    "LoginError": "The login session has expired. Run `aws login` with the profile.",
    "ClientError": "AWS refused to issue credentials for the role. Check its trust policy, and the identity that "
    "assumes it.",
    "MfaNeeded": "The profile requires an MFA code (mfa_serial), which a server cannot enter. Use a role without MFA.",
}
"""Instructions for a botocore error, by the name of its class or of a base class."""
OTHER = "Check `aws`, the profiles in ~/.aws, and the role of the container or instance. The server's log has more."
UNREACHABLE = {"HTTPClientError", "ConnectionError", "MetadataRetrievalError", "CredentialRetrievalError"}
"""Errors that may be temporary: of the connection to a server that issues credentials, or of that server."""
NONE_FOUND = (
    f"{NO_CREDENTIALS}: none in the environment, in a profile, or from the role of the container or instance. Assign "
    "a role, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or configure keys or a `profile` in `aws`."
)

EXPIRED = re.compile(r"security token included in the request is (expired|invalid)")
"""AWS returns HTTP 403 for expired keys, and for those of a role that was replaced."""


class AwsOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    access_key_id: str | None = None
    """The access key ID. By default credentials are found as AWS's own tools find them: in the environment, in a
    profile, by the identity of the pod or container, or by the role of the instance. That requires
    the extra `bedrock`."""
    secret_access_key: SecretStr | None = None
    """The secret access key of `access_key_id`."""
    session_token: HeaderSecret | None = None
    """The session token of temporary keys."""
    profile: str | None = None
    """A profile in `~/.aws/config` or `~/.aws/credentials`: with keys, a role to assume, SSO, or a program. Default:
    `AWS_PROFILE`, or `default` if that is not set; keys in the environment take precedence over both."""

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            given, lacking = ("access_key_id", "secret_access_key")[:: 1 if self.access_key_id is not None else -1]
            text = f"`{given}` needs `{lacking}`"
        elif self.session_token is not None and self.access_key_id is None:
            text = "`session_token` needs `access_key_id` and `secret_access_key`"
        elif self.profile is not None and self.access_key_id is not None:
            text = "set either `access_key_id` and `secret_access_key`, or `profile`, not both"
        else:
            return self
        raise PydanticCustomError("aws", "{text}", {"text": text})


class AwsCredentials:
    """Signs requests for `service` in `region`. Raises `ConfigError` if botocore is needed but not installed."""

    def __init__(
        self,
        options: AwsOptions,
        region: str,
        service: str,
    ) -> None:
        self._region = region
        self._service = service
        self._configured = configured_keys(options)
        if self._configured is None:
            require("botocore", "`aws` without keys in the configuration", "bedrock")
        self._source = _Source(options.profile, region)
        self._found = TokenCache[AwsKeys]()

    @property
    def secrets(self) -> Iterable[str]:
        for keys in (self._configured,) if self._configured else self._found.recent:
            yield keys.secret
            yield keys.session_token or ""

    async def headers(self, request: OutgoingRequest) -> Mapping[str, str]:
        keys = self._configured or await self._found.get(self._source.fetch)
        return sign(request, keys, self._region, self._service, datetime.now(UTC))

    def is_expired(self, status: int, text: str) -> bool:
        return status == 401 or EXPIRED.search(text) is not None

    def discard_refused(self, refused: Mapping[str, str]) -> bool:
        used = [keys for keys in self._found.recent if f"Credential={keys.id}/" in refused["authorization"]]
        return bool(used) and self._found.discard(used[-1])

    async def aclose(self) -> None:
        await self._found.aclose()


def configured_keys(options: AwsOptions) -> AwsKeys | None:
    if options.access_key_id is None or options.secret_access_key is None:
        return None
    token = options.session_token.get_secret_value() if options.session_token else None
    return AwsKeys(options.access_key_id, options.secret_access_key.get_secret_value(), token)


class _MfaNeeded(ValueError):
    pass


class _Source:
    def __init__(self, profile: str | None, region: str) -> None:
        self._profile = profile
        self._region = region

    async def fetch(self) -> Token[AwsKeys]:
        """AWS's error messages only go to the server's log, because they name accounts and roles."""
        try:
            return await call_in_thread(self._find)
        except TimeoutError:
            logger.warning(
                "No AWS credentials within %g s: a server or the program of a profile hangs",
                FETCH_TIMEOUT_S,
            )
            raise ModelUnreachable(f"{NO_CREDENTIALS}: no response within {FETCH_TIMEOUT_S:g} s.") from None

    def _find(self) -> Token[AwsKeys]:
        errors = import_module("botocore.exceptions")
        try:
            session = self._session()
            check_mfa(session)
            found = session.get_credentials()
            keys = found.get_frozen_credentials() if found is not None else None
        except (errors.BotoCoreError, errors.ClientError, OSError, ValueError, KeyError, RuntimeError) as error:
            logger.warning("No AWS credentials (profile %s): %s", self._profile or "not set", summarize_error(error))
            raise explain(error) from None
        if keys is None:
            logger.warning("No AWS credentials found (profile %s)", self._profile or "not set")
            raise ModelRefusedKey(NONE_FOUND)
        ends = getattr(found, "_expiry_time", None)  # botocore has no public attribute for it
        lifetime = STATIC_SECONDS if ends is None else (ends - datetime.now(UTC)).total_seconds()
        return Token(AwsKeys(keys.access_key, keys.secret_key, keys.token), lifetime)

    def _session(self) -> Any:
        session = import_module("botocore.session").Session(profile=self._profile)
        session.set_default_client_config(import_module("botocore.config").Config(**CLIENT))
        if session.get_config_variable("region") is None:
            session.set_config_variable("region", self._region)
        return session


def check_mfa(session: Any) -> None:
    """Raise an error for profiles with MFA: botocore would prompt for the code in the server's terminal, and block."""
    profiles = session.full_config.get("profiles", {})
    name = session.get_config_variable("profile") or "default"
    seen: set[str] = set()
    while name in profiles and name not in seen:
        seen.add(name)
        if "role_arn" in profiles[name] and "mfa_serial" in profiles[name]:
            raise _MfaNeeded(f"the profile {name} has mfa_serial")
        name = profiles[name].get("source_profile", "")


def explain(error: Exception) -> ModelError:
    kinds = [kind.__name__.removeprefix("_") for kind in type(error).__mro__]
    response = getattr(error, "response", None) or {}
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status >= 500 or status == 429 or UNREACHABLE.intersection(kinds):
        return ModelUnreachable(f"{NO_CREDENTIALS}: the service that issues them failed. The server's log has more.")
    code = response.get("Error", {}).get("Code", "")
    cure = next((CURES[kind] for kind in kinds if kind in CURES), OTHER)
    return ModelRefusedKey(f"{NO_CREDENTIALS}{f' ({code})' if code else ''}. {cure}")
