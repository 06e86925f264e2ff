"""Option types of parts with outbound requests: validated URLs and headers."""

from typing import Annotated

from pydantic import AfterValidator, SecretStr
from pydantic_core import PydanticCustomError

from rightseat.egress.request import parse_base_url, write_headers


def _check_address(url: str) -> str:
    try:
        parse_base_url(url)
    except ValueError as error:
        raise PydanticCustomError("address", "{text}", {"text": str(error)}) from None
    return url


def _check_value(value: SecretStr) -> SecretStr:
    try:
        write_headers({"value": value.get_secret_value()})
    except ValueError:
        raise PydanticCustomError("header", "should be one line of plain characters") from None
    return value


def _check_name(name: str) -> str:
    try:
        write_headers({name: ""})
    except ValueError as error:
        raise PydanticCustomError("header", "{text}", {"text": str(error)}) from None
    return name


BaseUrl = Annotated[str, AfterValidator(_check_address)]
"""The base URL of a server."""

HeaderSecret = Annotated[SecretStr, AfterValidator(_check_value)]
"""A secret that is sent in a header."""

HeaderName = Annotated[str, AfterValidator(_check_name)]
