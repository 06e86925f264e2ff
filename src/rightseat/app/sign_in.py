"""The routes of a sign-in with the identity provider.

They are outside of the operator face, which refuses requests that another site caused: the provider's redirect is one.
Both are navigations of the browser, so errors are shown by the console: its sign-in screen has a text for each problem.
No address comes from the request: browsers are sent to the provider, or to the console below `server.public_url`.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rightseat.access.attempts import WrongKeyLimit
from rightseat.access.origins import AllowedOrigins
from rightseat.access.route_auth import Handler, RouteAuth
from rightseat.access.sessions import uses_https
from rightseat.access.sign_in.attempt import delete_attempt_cookie, find_attempt_cookie, set_attempt_cookie
from rightseat.access.sign_in.refusal import SignInProblem, SignInRefused
from rightseat.access.sign_in.service import SignIn
from rightseat.core.ask import Principal
from rightseat.core.audit import AUDIT_LOGGER, KIND, ROUTINE, USER
from rightseat.core.errors import TooManyAttempts, Unauthenticated

logger = logging.getLogger(__name__)
audit = logging.getLogger(AUDIT_LOGGER)

PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def sign_in_routes(sign_in: SignIn, attempts: WrongKeyLimit) -> list[Route]:
    """`attempts` are those of the client addresses: a refused sign-in counts like a wrong key."""
    auth = RouteAuth("sign_in", allowed_origins=AllowedOrigins(is_closed=True))
    handlers = SignInRoutes(sign_in, attempts)
    path = sign_in.addresses.path
    return [
        Route(f"{path}/start", auth.publish(handlers.limit(handlers.start)), methods=["GET"]),
        Route(f"{path}/callback", auth.publish(handlers.limit(handlers.finish)), methods=["GET"]),
    ]


class SignInRoutes:
    def __init__(self, sign_in: SignIn, attempts: WrongKeyLimit) -> None:
        self._sign_in = sign_in
        self._attempts = attempts
        self._sessions = sign_in.sessions

    def limit(self, handler: Handler) -> Handler:
        """The same handler, for clients whose address has attempts left."""

        async def respond(request: Request, principal: Principal) -> Response:
            try:
                self._attempts.check(address_of(request))
            except TooManyAttempts as error:
                headers = {**PAGE_HEADERS, "retry-after": str(error.retry_after)}
                return PlainTextResponse(error.message, error.status, headers)
            return await handler(request, principal)

        return respond

    async def start(self, request: Request, principal: Principal) -> Response:
        try:
            url, cookie = await self._sign_in.begin()
        except Unauthenticated as error:
            return self._refuse(error)
        except Exception:
            logger.exception("sign-in: an unexpected error")
            return self._show("unavailable")
        response = RedirectResponse(url, 303, PAGE_HEADERS)
        set_attempt_cookie(response, cookie, is_secure=self._is_secure(request))
        return response

    async def finish(self, request: Request, principal: Principal) -> Response:
        """The attempt's cookie is deleted in any case: a response can be used once."""
        try:
            cookie = find_attempt_cookie(request.headers, is_secure=self._is_secure(request))
            user, session = await self._sign_in.finish(cookie, read_query(request))
        except Unauthenticated as error:
            with suppress(TooManyAttempts):  # from the next request on
                self._attempts.record_wrong(address_of(request))
            response = self._refuse(error)
        except Exception:
            logger.exception("sign-in: an unexpected error")
            response = self._show("unavailable")
        else:
            extra = {KIND: "sign_in", USER: user.id}
            audit.info("sign-in: %r signed in with %s", user.id, self._sign_in.name, extra=extra)
            response = continue_to(self._sign_in.addresses.console_url)
            self._sessions.set_cookie(response, session, request)
        delete_attempt_cookie(response, is_secure=self._is_secure(request))
        return response

    def _is_secure(self, request: Request) -> bool:
        return uses_https(request, self._sign_in.addresses.public_url)

    def _refuse(self, error: Unauthenticated) -> Response:
        """Lines about requests without a sign-in in progress are routine: anyone can cause any number of them."""
        problem: SignInProblem = error.problem if isinstance(error, SignInRefused) else "invalid_response"
        text = "sign-in: refused with %s (%s): %s"
        extra = {ROUTINE: True} if problem == "expired" else {KIND: "sign_in"}
        audit.info(text, self._sign_in.name, problem, error.message, extra=extra)
        return self._show(problem)

    def _show(self, problem: SignInProblem) -> Response:
        return continue_to(f"{self._sign_in.addresses.console_url}#/sign-in?problem={problem}")


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def read_query(request: Request) -> Mapping[str, str]:
    """Raises `SignInRefused` if a parameter is there twice, as no provider sends it."""
    items = request.query_params.multi_items()
    if len(dict(items)) < len(items):
        raise SignInRefused("invalid_response", "a parameter of the response is there twice")
    return dict(items)


def continue_to(url: str) -> Response:
    """A page that navigates by itself. An HTTP redirect would still count as caused by the provider's site, for which
    browsers do not send the session's cookie (`SameSite=Strict`)."""
    address = escape(url)
    page = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={address}">
<title>rightseat</title>
<p><a href="{address}">Continue to the console</a>
"""
    return HTMLResponse(page, headers=PAGE_HEADERS)
