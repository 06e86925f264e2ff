"""An issuer of tokens, and keys, for tests."""

import base64
import hmac
import json
import time
import warnings
from collections.abc import Mapping
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from rightseat.access.keys import AccessKey as ApiKey
from rightseat.access.keys import Keys, digest, prefix_of

ISSUER = "https://login.example.com"
AUDIENCE = "rightseat"
RSA: RSAKey = RSAKey.generate_key(2048, {"kid": "rsa"})
OTHER: RSAKey = RSAKey.generate_key(2048, {"kid": "other"})
EC: ECKey = ECKey.generate_key("P-256", {"kid": "ec"})
ED: OKPKey = OKPKey.generate_key("Ed25519", {"kid": "ed"})


def jwks(*keys: Key) -> str:
    """What an issuer publishes: the public halves."""
    return json.dumps({"keys": [dict(key.as_dict(private=False)) for key in keys]})


def claims(**changes: Any) -> dict[str, Any]:
    """Those of a good token, with changes; None leaves one out."""
    now = int(time.time())
    end = now + 86_400  # parameters of tests are made at collection, and may be used much later
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "carol", "iat": now, "exp": end} | changes
    return {name: value for name, value in good.items() if value is not None}


def token(key: Key = RSA, alg: str = "RS256", header: Mapping[str, Any] | None = None, **changes: Any) -> str:
    given = {"alg": alg, "kid": key.kid} | dict(header or {})
    registry = jws.JWSRegistry(algorithms=[alg], strict_check_header=False)
    named = {name: value for name, value in given.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)  # of the name EdDSA
        return jwt.encode(named, claims(**changes), key, registry=registry)


def signed_with(secret: bytes, alg: str) -> str:
    """A token that is signed with a secret that both sides would have; by hand, as joserfc refuses to."""
    head, body = part({"alg": alg, "kid": "rsa"}), part(claims())
    signature = hmac.new(secret, f"{head}.{body}".encode(), f"sha{alg[2:]}").digest()
    return f"{head}.{body}.{part(signature)}"


def part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def keys(**secrets: str) -> Keys:
    """`keys(alice="key-alice")`"""
    return Keys(ApiKey(name, prefix_of(key), digest(key), f"key:{name}") for name, key in secrets.items())
