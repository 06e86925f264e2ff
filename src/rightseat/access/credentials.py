"""Reads the credential of a request, in the same way for every face and every kind of credential."""

from starlette.datastructures import Headers

from rightseat.core.errors import Unauthenticated

BEARER = "bearer "
MAX_CREDENTIAL_CHARS = 16384  # no key and no token is as long


def read(headers: Headers, cookie: str | None) -> str:
    """The credential: `Authorization: Bearer …`, `X-Api-Key: …` or the cookie. Raises `Unauthenticated`.

    The same credential may be sent twice; two different ones are ambiguous and refused.
    """
    found = {credential for credential in _find_all(headers, cookie) if credential}
    if not found:
        raise Unauthenticated("Authentication required: send a key as `Authorization: Bearer …` or `X-Api-Key: …`.")
    if len(found) > 1:
        raise Unauthenticated("The request has two different credentials. Send one.")
    (credential,) = found
    if len(credential) > MAX_CREDENTIAL_CHARS:
        raise Unauthenticated("The credential is too long.")
    return credential


def is_given(headers: Headers, cookie: str | None = None) -> bool:
    """Whether the request has a credential in a header of its own, or in the cookie of that name."""
    return any(_find_all(headers, cookie))


def _find_all(headers: Headers, cookie: str | None) -> list[str]:
    bearers = [value for value in headers.getlist("authorization") if value[: len(BEARER)].lower() == BEARER]
    found = [value[len(BEARER) :].strip() for value in bearers]
    found += [value.strip() for value in headers.getlist("x-api-key")]
    if cookie is not None:
        found += [value for line in headers.getlist("cookie") for value in _cookies(line, cookie)]
    return found


def _cookies(line: str, name: str) -> list[str]:
    pairs = (pair.partition("=") for pair in line.split(";"))
    return [value.strip().strip('"') for key, _, value in pairs if key.strip() == name]
