"""Credentials of AWS: keys of the configuration, of the environment or of a profile, which sign each request."""

import configparser
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.config.variables import environment
from rightseat.core.errors import ConfigError, ModelRefusedKey
from rightseat.egress.credentials.sigv4 import Keys, sign
from rightseat.egress.http import Asked
from rightseat.egress.options import Sendable

FILE = Path("~/.aws/credentials")


class AwsOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    access_key_id: str | None = None
    """Left out, the keys are those of the profile, else of `AWS_ACCESS_KEY_ID` and its like in the environment."""
    secret_access_key: SecretStr | None = None
    session_token: Sendable | None = None
    """Of keys that last only a while."""
    profile: str | None = None
    """The name of keys in `~/.aws/credentials`, or in the file that `AWS_SHARED_CREDENTIALS_FILE` names. The file is
    read with every request, so keys may be replaced in it."""

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
    """Raises `ConfigError` where there are no keys. `service` and `region` are what the signature is good for."""

    def __init__(
        self,
        options: AwsOptions,
        region: str,
        service: str,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._options = options
        self._region = region
        self._service = service
        self._environ = environment("AWS_") if environ is None else environ
        self._clock = clock
        self._keys = find(options, self._environ)

    @property
    def secrets(self) -> Iterable[str]:
        return (self._keys.secret, self._keys.session_token or "")

    async def headers(self, asked: Asked) -> Mapping[str, str]:
        try:
            self._keys = find(self._options, self._environ)
        except ConfigError as error:  # it was there when the server started
            raise ModelRefusedKey(f"The server has no keys any more to sign with. {error}") from error
        return sign(asked, self._keys, self._region, self._service, self._clock())

    def renews(self, refused: Mapping[str, str]) -> bool:
        return False  # they are looked up with every request

    async def aclose(self) -> None:
        pass


def find(options: AwsOptions, environ: Mapping[str, str]) -> Keys:
    """Raises `ConfigError`, with the places that were looked at."""
    if options.access_key_id is not None and options.secret_access_key is not None:
        token = options.session_token.get_secret_value() if options.session_token else None
        return Keys(options.access_key_id, options.secret_access_key.get_secret_value(), token)
    id, secret = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if options.profile is None and id and secret:
        return Keys(id, secret, environ.get("AWS_SESSION_TOKEN"))
    if options.profile is None and (id or secret):
        lacking = "AWS_SECRET_ACCESS_KEY" if id else "AWS_ACCESS_KEY_ID"
        raise ConfigError(f"The environment has only one of AWS's keys: {lacking} is not set.")
    profile = options.profile or environ.get("AWS_PROFILE") or "default"
    file = Path(environ.get("AWS_SHARED_CREDENTIALS_FILE") or FILE).expanduser()
    return read_profile(file, profile)


def read_profile(file: Path, profile: str) -> Keys:
    """Raises `ConfigError`, without what is in the file."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            "There are no AWS keys: `aws` names none, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and "
            f"there is no file {file}."
        ) from None
    except (OSError, UnicodeDecodeError, configparser.Error):
        raise ConfigError(f"{file} cannot be read as a file of AWS profiles.") from None
    if not parser.has_section(profile):
        known = ", ".join(parser.sections()) or "none"
        raise ConfigError(f"{file} has no profile {profile!r}. It has: {known}.")
    found = parser[profile]
    id, secret = found.get("aws_access_key_id"), found.get("aws_secret_access_key")
    if not id or not secret:
        raise ConfigError(
            f"The profile {profile!r} in {file} has no aws_access_key_id and aws_secret_access_key. Profiles that "
            "assume a role, sign in or run a program are not followed: export their keys to the environment, with "
            f"`aws configure export-credentials --profile {profile} --format env`."
        )
    return Keys(id, secret, found.get("aws_session_token"))
