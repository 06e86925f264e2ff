"""Computes AWS Signature Version 4: from a request, keys and a time to the headers that sign it.

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
class AwsKeys:
    id: str
    secret: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


def sign(request: OutgoingRequest, keys: AwsKeys, region: str, service: str, now: datetime) -> dict[str, str]:
    """`now` is in UTC. AWS accepts a signature for about five minutes."""
    timestamp = now.strftime("%Y%m%dT%H%M%SZ")
    ours = {"x-amz-date": timestamp}
    if keys.session_token:
        ours["x-amz-security-token"] = keys.session_token
    signed = dict(sorted({"host": request.host, **request.headers, **ours}.items()))
    names = ";".join(signed)
    scope = f"{timestamp[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((ALGORITHM, timestamp, scope, sha256(write_canonical_request(request, signed).encode())))
    key = f"AWS4{keys.secret}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={keys.id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {"authorization": f"{ALGORITHM} {credential}", **ours}


def write_canonical_request(request: OutgoingRequest, signed: Mapping[str, str]) -> str:
    """Write a request in the canonical form, so that both sides sign the same text."""
    path, _, query = request.target.partition("?")
    headers = "".join(f"{name}:{' '.join(value.split())}\n" for name, value in signed.items())
    return "\n".join(
        (request.method, write_path(path), write_query(query), headers, ";".join(signed), sha256(request.body))
    )


def write_path(path: str) -> str:
    """Escape the sent path once more, as all AWS services but S3 require, without `.`, `..` and double slashes."""
    plain = posixpath.normpath(f"/{path.lstrip('/')}")
    end = "/" if path.endswith("/") and plain != "/" else ""
    return quote(plain + end, safe="/~")


def write_query(query: str) -> str:
    pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
    written = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in written)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
