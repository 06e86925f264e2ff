"""The users of a Django application, for `Copilot(authenticate=…)`."""

from importlib import import_module
from io import BytesIO
from typing import Any

from starlette.requests import Request

from rightseat.core.ask import Principal

__all__ = ["session_user"]


async def session_user(request: Request) -> Principal | None:
    """The user who is signed in to Django, by its session cookie; None for nobody.

    copilot = Copilot(authenticate=session_user)
    application = copilot.wrap(get_asgi_application(), path="/ai")
    """
    settings: Any = import_module("django.conf").settings
    handlers: Any = import_module("django.core.handlers.asgi")
    auth: Any = import_module("django.contrib.auth")
    found = handlers.ASGIRequest({**request.scope, "path": request.scope["path"]}, BytesIO())
    sessions: Any = import_module(settings.SESSION_ENGINE)
    found.session = sessions.SessionStore(request.cookies.get(settings.SESSION_COOKIE_NAME))
    user = await auth.aget_user(found)
    return Principal(str(user.pk)) if user.is_authenticated and user.is_active else None
