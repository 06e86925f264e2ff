"""Why a sign-in fails. The sign-in screen has a text for each problem; the message is for the log."""

from typing import Literal

from rightseat.core.errors import Unauthenticated

SignInProblem = Literal[
    "denied", "expired", "clock", "unknown_key", "invalid_response", "no_access", "misconfigured", "unavailable"
]
"""
denied            the user or the provider refused it
expired           the browser has no sign-in in progress, or this is the response to another one
clock             the ID token has expired already, or is not valid yet
unknown_key       the ID token is signed by a key that the provider does not publish
invalid_response  the response or the ID token fails another check
no_access         no grant applies to the user's claims
misconfigured     the provider rejects the client or its request
unavailable       the provider does not respond
"""


class SignInRefused(Unauthenticated):
    code = "sign_in_refused"

    def __init__(self, problem: SignInProblem, message: str) -> None:
        super().__init__(message)
        self.problem: SignInProblem = problem
