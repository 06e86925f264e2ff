"""Serves the files and charts of runs to their user only.

A chart is its ECharts option as JSON; with `.svg` or `.png` after its id, it is an image. Browsers download files and
execute nothing of them, whatever their content type claims.
"""

import re
from collections.abc import Callable
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.route_auth import Handler
from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.runtime import Runtime
from rightseat.plugins import charts

CHART_TYPE = "application/vnd.echarts+json"
IMAGE_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
PLAIN_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(; ?charset=[\w-]+)?", re.ASCII)

SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "cache-control": "private, no-cache",
}
"""Headers of every file. Its content is untrusted, so a page made of it has no origin and no scripts."""


class FileNotFound(RightseatError):
    code = "file_not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("File not found: it belongs to another user, or was deleted with its thread.")


class NotAnImage(RightseatError):
    code = "not_an_image"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not a chart, so it has no image. Remove the extension from the URL.")


PAGE_HEADERS = SAFE_HEADERS | {
    "content-security-policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
    ),
}
"""Headers of a file that a page of this server shows in a frame."""
HTML_TYPES = ("text/html", "application/xhtml+xml")


class NotAPage(RightseatError):
    code = "not_a_page"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not an HTML file, so it cannot be shown as a page. Download it instead.")


def make_file_handler(runtime: Runtime, refuse: Callable[[RightseatError], Response]) -> Handler:
    """For a route that ends in `{file}`."""

    async def handle(request: Request, principal: Principal) -> Response:
        try:
            return await make_file_response(runtime, request.path_params["file"], principal)
        except RightseatError as error:
            return refuse(error)

    return handle


async def make_file_response(runtime: Runtime, name: str, principal: Principal, *, is_page: bool = False) -> Response:
    """`name` is an id, or that of a chart with an image extension. `is_page` shows an HTML file instead of
    downloading it. Raises `FileNotFound`, `NotAnImage` and `NotAPage`.
    """
    id = id_of(name)
    ending = name.removeprefix(id)
    found = await runtime.artifact(id, principal)
    if found is None:
        raise FileNotFound
    if is_page:
        return make_page(found)
    return await render_image(found, ending) if ending else make_download(found)


def id_of(name: str) -> str:
    """Without the image extension of a chart."""
    return next((name.removesuffix(ending) for ending in IMAGE_TYPES if name.endswith(ending)), name)


def make_download(file: StoredArtifact) -> Response:
    kind = file.media_type if PLAIN_TYPE.fullmatch(file.media_type) else "application/octet-stream"
    headers = SAFE_HEADERS | {"content-disposition": write_disposition("attachment", file.name)}
    if file.media_type == CHART_TYPE:
        headers["content-disposition"] = write_disposition("inline", f"{file.name}.json")
    return Response(file.content, headers=headers | {"content-type": kind})


def make_page(file: StoredArtifact) -> Response:
    """An HTML file, without scripts, requests and an origin."""
    if file.media_type.partition(";")[0].strip().lower() not in HTML_TYPES:
        raise NotAPage(file.name)
    headers = PAGE_HEADERS | {"content-disposition": write_disposition("inline", file.name)}
    return Response(file.content, headers=headers | {"content-type": "text/html; charset=utf-8"})


async def render_image(file: StoredArtifact, ending: str) -> Response:
    if file.media_type != CHART_TYPE:
        raise NotAnImage(file.name)
    option = msgspec.json.decode(file.content)
    drawn = charts.render_svg(option).encode() if ending == ".svg" else await charts.render_png(option)
    shown = write_disposition("inline", f"{file.name}{ending}")
    return Response(drawn, headers=SAFE_HEADERS | {"content-disposition": shown, "content-type": IMAGE_TYPES[ending]})


def write_disposition(kind: str, name: str) -> str:
    """A Content-Disposition header by RFC 6266, with an ASCII name for old clients. The name contains no path."""
    last = re.sub(r"[\x00-\x1f\x7f]", "", name.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
    plain = re.sub(r'[^ -~]|["\\%]', "_", last)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"
