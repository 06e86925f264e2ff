"""The section `limits_webhook`: where warnings of budgets are sent."""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, SecretStr
from pydantic_core import PydanticCustomError

from rightseat.config.network import NetworkOptions
from rightseat.config.urls import parse_base_url


def _check_webhook_url(url: SecretStr) -> SecretStr:
    try:
        parse_base_url(url.get_secret_value())
    except ValueError as error:
        raise PydanticCustomError("address", "{text}", {"text": str(error)}) from None
    return url


def _check_webhook_key(key: SecretStr) -> SecretStr:
    if not all("!" <= character <= "~" for character in key.get_secret_value()):
        raise PydanticCustomError("secret", "should be printable ASCII characters without spaces")
    return key


class WebhookOptions(NetworkOptions):
    """Where warnings of budgets are sent."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: Annotated[SecretStr, AfterValidator(_check_webhook_url)]
    """The address that receives a POST request with JSON. It is treated as a secret, because many services have a
    token in it."""
    api_key: Annotated[SecretStr, AfterValidator(_check_webhook_key)] | None = None
    """Sent as `Authorization: Bearer …`."""
