"""Signatures of AWS, version 4: a request, keys and a moment → the headers that sign it. Pure.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hashlib
import hmac
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qsl, quote

from rightseat.egress.request import OutgoingRequest

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Keys:
    id: str
    secret: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


def sign(asked: OutgoingRequest, keys: Keys, region: str, service: str, now: datetime) -> dict[str, str]:
    """`now` is in UTC; AWS takes a signature for about five minutes."""
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    ours = {"x-amz-date": moment}
    if keys.session_token:
        ours["x-amz-security-token"] = keys.session_token
    signed = dict(sorted({"host": asked.host, **asked.headers, **ours}.items()))
    names = ";".join(signed)
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((ALGORITHM, moment, scope, sha256(canonical(asked, signed).encode())))
    key = f"AWS4{keys.secret}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={keys.id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {"authorization": f"{ALGORITHM} {credential}", **ours}


def canonical(asked: OutgoingRequest, signed: Mapping[str, str]) -> str:
    """The one way to write a request, so that both sides sign the same."""
    path, _, query = asked.target.partition("?")
    headers = "".join(f"{name}:{' '.join(value.split())}\n" for name, value in signed.items())
    return "\n".join(
        (asked.method, write_path(path), write_query(query), headers, ";".join(signed), sha256(asked.body))
    )


def write_path(path: str) -> str:
    """As it is sent, and escaped once more, as all of AWS wants it but S3; without `.`, `..` and double slashes."""
    plain = posixpath.normpath(f"/{path.lstrip('/')}")
    end = "/" if path.endswith("/") and plain != "/" else ""
    return quote(plain + end, safe="/~")


def write_query(query: str) -> str:
    pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
    written = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in written)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
