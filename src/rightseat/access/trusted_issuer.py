"""What a client has to know about the identity provider whose tokens are accepted."""

from typing import NamedTuple


class TrustedIssuer(NamedTuple):
    """`has_scopes`: the scopes of a user are in the token, so that a client has to request them."""

    url: str
    has_scopes: bool
