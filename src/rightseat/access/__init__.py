"""Authentication and authorization: from a request's credential to a `Principal`, or an error.

authenticator   authenticates requests, and protects the routes of faces
attempts        limits attempts with wrong keys, per client address
credentials     reads the credential of a request: the one extractor
keys            API keys, stored as hashes
key_list        lists all keys, without their secrets
stored_keys     API keys of the store, which change while the server runs
tokens          JWTs, verified with the public keys of their issuer
jwks            those public keys, fetched and cached
sign_in         sign-in of people with an OpenID provider
sessions        cookies of browsers that have signed in
scopes          the faces and agents that a credential allows
threads         hides threads of agents that a principal may not use
hosts           the host names that a server responds to
origins         the web pages that may call a face
request_limits  the size of a request's head
"""

from typing import TYPE_CHECKING

from rightseat.lazy_names import import_lazily

if TYPE_CHECKING:
    from rightseat.config.access import Access, ApiKey, Jwt
    from rightseat.core.ask import Principal

__all__ = [
    "Access",
    "ApiKey",
    "Jwt",
    "Principal",
]

_HOMES = {
    "Access": "rightseat.config.access:Access",
    "ApiKey": "rightseat.config.access:ApiKey",
    "Jwt": "rightseat.config.access:Jwt",
    "Principal": "rightseat.core.ask:Principal",
}

__getattr__ = import_lazily(__name__, _HOMES)
