"""Credentials of AWS, which sign each request: keys of the configuration, or what botocore finds.

botocore looks in the environment, in the profiles of `~/.aws` (keys, assumed roles, SSO, programs), for the web
identity of a pod (IRSA), at the endpoint of a container (ECS, EKS pod identity) and for the role of the instance (EC2).
It is imported with the first request and works in a thread. Each renewal looks anew, so files may be replaced.
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.errors import ModelError, ModelRefusedKey, ModelUnreachable
from rightseat.egress.credentials.library import FETCH_TIMEOUT_S, call_in_thread, in_one_line, require
from rightseat.egress.credentials.renewing import Renewed, Token
from rightseat.egress.credentials.sigv4 import Keys, sign
from rightseat.egress.options import Sendable
from rightseat.egress.request import OutgoingRequest

logger = logging.getLogger(__name__)

STATIC_SECONDS = 120.0  # after which keys without an end are looked up again: a tool may have replaced them
CLIENT = {"connect_timeout": 5, "read_timeout": 10, "retries": {"total_max_attempts": 2}}
"""Of the requests to STS and SSO, so that they end within FETCH_TIMEOUT_S."""

NO_CREDENTIALS = "The server has no AWS credentials for its model"
CURES = {
    "ProfileNotFound": "Its profile is in neither ~/.aws/config nor ~/.aws/credentials. Check `profile` of `aws`, and "
    "AWS_PROFILE.",
    "ConfigParseError": "The files in ~/.aws cannot be read. Its log names the file.",
    "PartialCredentialsError": "One of two keys is missing: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the two of "
    "the profile.",
    "SSOError": "Its sign-in has ended. Run `aws sso login` with its profile.",
    "TokenRetrievalError": "Its sign-in has ended. Run `aws sso login` with its profile.",
    "LoginError": "Its sign-in has ended. Run `aws login` with its profile.",
    "ClientError": "AWS refuses its role. Check the trust policy of the role, and what the server is as it asks.",
    "MfaNeeded": "Its profile asks for a code (mfa_serial), which a server cannot enter. Use a role without one.",
}
"""What to do about an error of botocore's, by the name of its class or of one that it is made from."""
OTHER = "Check `aws`, the profiles in ~/.aws, and the role of the container or instance. The server's log says more."
UNREACHABLE = {"HTTPClientError", "ConnectionError", "MetadataRetrievalError", "CredentialRetrievalError"}
"""Errors that may pass: of the way to a server that gives credentials, or of that server."""
NONE_FOUND = (
    f"{NO_CREDENTIALS}: there are none in the environment, in a profile, for its container or for its instance. Give "
    "it a role, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name keys or a `profile` in `aws`."
)

EXPIRED = re.compile(r"security token included in the request is (expired|invalid)")
"""AWS returns HTTP 403 for keys that have expired, and for those of a role that was replaced."""


class AwsOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    access_key_id: str | None = None
    """Left out, the credentials are found as AWS's own tools find them: in the environment, in a profile, by the pod's
    or the container's identity, or by the role of the instance. That needs `pip install 'rightseat[bedrock]'`."""
    secret_access_key: SecretStr | None = None
    session_token: Sendable | None = None
    """Of keys that last only a while."""
    profile: str | None = None
    """A profile in `~/.aws/config` or `~/.aws/credentials`: with keys, a role to assume, SSO, or a program. Left out,
    `AWS_PROFILE`, else `default`; keys of the environment come before those."""

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            given, lacking = ("access_key_id", "secret_access_key")[:: 1 if self.access_key_id is not None else -1]
            text = f"`{given}` needs `{lacking}`"
        elif self.session_token is not None and self.access_key_id is None:
            text = "`session_token` needs `access_key_id` and `secret_access_key`"
        elif self.profile is not None and self.access_key_id is not None:
            text = "there are keys and a `profile`; one of them is meant"
        else:
            return self
        raise PydanticCustomError("aws", "{text}", {"text": text})


class Aws:
    """Raises `ConfigError` where botocore is needed and missing. `service` and `region` are what it signs for."""

    def __init__(
        self,
        options: AwsOptions,
        region: str,
        service: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._region = region
        self._service = service
        self._clock = clock
        self._configured = configured_keys(options)
        if self._configured is None:
            require("botocore", "`aws` without keys in the configuration", "bedrock")
        self._source = _Source(options.profile, region)
        self._found = Renewed[Keys]()

    @property
    def secrets(self) -> Iterable[str]:
        for keys in (self._configured,) if self._configured else self._found.known:
            yield keys.secret
            yield keys.session_token or ""

    async def headers(self, asked: OutgoingRequest) -> Mapping[str, str]:
        keys = self._configured or await self._found.get(self._source.fetch)
        return sign(asked, keys, self._region, self._service, self._clock())

    def is_expired(self, status: int, text: str) -> bool:
        return status == 401 or EXPIRED.search(text) is not None

    def renews(self, refused: Mapping[str, str]) -> bool:
        used = [keys for keys in self._found.known if f"Credential={keys.id}/" in refused["authorization"]]
        return bool(used) and self._found.discard(used[-1])

    async def aclose(self) -> None:
        await self._found.aclose()


def configured_keys(options: AwsOptions) -> Keys | None:
    if options.access_key_id is None or options.secret_access_key is None:
        return None
    token = options.session_token.get_secret_value() if options.session_token else None
    return Keys(options.access_key_id, options.secret_access_key.get_secret_value(), token)


class _MfaNeeded(ValueError):
    pass


class _Source:
    def __init__(self, profile: str | None, region: str) -> None:
        self._profile = profile
        self._region = region

    async def fetch(self) -> Token[Keys]:
        """AWS's words go to our log alone: they name accounts and roles."""
        try:
            return await call_in_thread(self._find)
        except TimeoutError:
            logger.warning("No AWS credentials within %g s; a server or program of a profile hangs", FETCH_TIMEOUT_S)
            raise ModelUnreachable(f"{NO_CREDENTIALS}: none came within {FETCH_TIMEOUT_S:g} s.") from None

    def _find(self) -> Token[Keys]:
        errors = import_module("botocore.exceptions")
        try:
            session = self._session()
            check_mfa(session)
            found = session.get_credentials()
            keys = found.get_frozen_credentials() if found is not None else None
        except (errors.BotoCoreError, errors.ClientError, OSError, ValueError, KeyError, RuntimeError) as error:
            logger.warning("No AWS credentials (profile %s): %s", self._profile or "not set", in_one_line(error))
            raise explain(error) from None
        if keys is None:
            logger.warning("No AWS credentials found (profile %s)", self._profile or "not set")
            raise ModelRefusedKey(NONE_FOUND)
        ends = getattr(found, "_expiry_time", None)  # botocore has no public name for it
        lasts = STATIC_SECONDS if ends is None else (ends - datetime.now(UTC)).total_seconds()
        return Token(Keys(keys.access_key, keys.secret_key, keys.token), lasts)

    def _session(self) -> Any:
        session = import_module("botocore.session").Session(profile=self._profile)
        session.set_default_client_config(import_module("botocore.config").Config(**CLIENT))
        if session.get_config_variable("region") is None:
            session.set_config_variable("region", self._region)
        return session


def check_mfa(session: Any) -> None:
    """botocore would ask for the code at the terminal of the server, and wait."""
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
        return ModelUnreachable(f"{NO_CREDENTIALS}: what gives them cannot be reached, or fails. Its log says more.")
    code = response.get("Error", {}).get("Code", "")
    cure = next((CURES[kind] for kind in kinds if kind in CURES), OTHER)
    return ModelRefusedKey(f"{NO_CREDENTIALS}{f' ({code})' if code else ''}. {cure}")
