"""Which web pages may call: suspicious origins in the configuration, and the preflight of one origin."""

from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from rightseat.config import ConfiguredPart
from rightseat.health.asgi import send_request
from rightseat.health.context import CheckContext
from rightseat.health.faces import HANDSHAKES, path_of
from rightseat.health.finding import Check, CheckOutcome, Fix, known

DEFAULT_PORTS = {"http": 80, "https": 443}
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}


def check_origins(context: CheckContext) -> Iterator[Check]:
    title = "Browsers send the origins as they are listed"
    yield Check("origins", "server.origins", title, known(*judge_origins(context)))
    origin = context.origin
    if origin is None or context.config is None or context.application is None:
        return
    for index, face in enumerate(context.config.faces):
        if face.type in HANDSHAKES and not HANDSHAKES[face.type].is_for_pages:
            continue
        run = partial(try_preflight, context.application, face, f"faces[{index}]", context)
        yield Check("origin", f"faces[{index}]", f"Pages of {origin} may call", run)


def judge_origins(context: CheckContext) -> Iterator[CheckOutcome]:
    server = context.server
    suspicious = [origin for origin in server.origins or () if origin not in ("*", normalize_origin(origin))]
    for origin in suspicious:
        text = f"No browser sends the origin {origin}, so pages of it may not call."
        yield CheckOutcome("warning", text, Fix(f"Write {normalize_origin(origin)}."))
    if not suspicious:
        yield CheckOutcome("ok", describe_origins(context))


def describe_origins(context: CheckContext) -> str:
    server = context.server
    if server.origins:
        return f"Pages of {', '.join(server.origins)} may call."
    if server.origins is None and server.is_local:
        return "Pages of this machine may call: http://localhost:*, http://127.0.0.1:*."
    return "No web page of another origin may call. List those that may in `server.origins`."


def normalize_origin(text: str) -> str:
    """As a browser sends it: scheme and host in lower case, no path, and no default port."""
    parts = urlsplit(text if "://" in text else f"http://{text}")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port and parts.port != DEFAULT_PORTS.get(parts.scheme) else ""
    return f"{parts.scheme}://{host}{port}"


async def try_preflight(
    application: ASGIApp, face: ConfiguredPart, subject: str, context: CheckContext
) -> CheckOutcome:
    origin = normalize_origin(context.origin or "")
    path = path_of(face) + (HANDSHAKES[face.type].path if face.type in HANDSHAKES else "")
    response = await send_request(application, "OPTIONS", path, {"origin": origin, **PREFLIGHT})
    if response.headers.get("access-control-allow-origin") in (origin, "*"):
        return CheckOutcome("ok", f"{face.type} at {path}: pages of {origin} may call.")
    return explain_refusal(origin, face, path, subject, context)


def explain_refusal(origin: str, face: ConfiguredPart, path: str, subject: str, context: CheckContext) -> CheckOutcome:
    own = getattr(face.options, "origins", None)
    allowed = [*(own if own is not None else context.server.origins or ()), origin]
    listed = f"[{', '.join(allowed)}]"
    option = "server.origins" if own is None else f"{subject}.origins"
    yaml = f"server: {{origins: {listed}}}" if own is None else f"faces: [{{type: {face.type}, origins: {listed}}}]"
    text = f"{face.type} at {path}: pages of {origin} may not call: browsers block the request (CORS)."
    advice = f"Add {origin} to {option}, exactly like this, and start the server again."
    if own is None and context.server.origins is None and context.server.is_local:
        advice += " Then list pages of this machine that call, too: they may only while the list is left out."
    return CheckOutcome("error", text, Fix(advice, yaml=yaml))
