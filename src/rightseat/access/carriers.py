"""Where a request carries its credential. One way to read it, for every face and for every kind of credential."""

from starlette.datastructures import Headers

from rightseat.core.errors import Refused

BEARER = "bearer "
LONGEST = 16384  # characters; no key and no token is as long


def read(headers: Headers, cookie: str | None) -> str:
    """The credential: `Authorization: Bearer …`, `X-Api-Key: …` or the cookie. Raises `Refused`.

    One that is sent twice is one; of two different ones nobody can say which is meant.
    """
    found = {credential for credential in _carried(headers, cookie) if credential}
    if not found:
        raise Refused("This needs a key. Send it as `Authorization: Bearer …` or as `X-Api-Key: …`.")
    if len(found) > 1:
        raise Refused("The request carries two different credentials. Send one.")
    (credential,) = found
    if len(credential) > LONGEST:
        raise Refused("The credential is too long.")
    return credential


def _carried(headers: Headers, cookie: str | None) -> list[str]:
    bearers = [value for value in headers.getlist("authorization") if value[: len(BEARER)].lower() == BEARER]
    found = [value[len(BEARER) :].strip() for value in bearers]
    found += [value.strip() for value in headers.getlist("x-api-key")]
    if cookie is not None:
        found += [value for line in headers.getlist("cookie") for value in _cookies(line, cookie)]
    return found


def _cookies(line: str, name: str) -> list[str]:
    pairs = (pair.partition("=") for pair in line.split(";"))
    return [value.strip().strip('"') for key, _, value in pairs if key.strip() == name]
