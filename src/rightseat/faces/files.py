"""The address of files and charts that runs have made, for whoever asked and nobody else.

A chart is its option for ECharts, as JSON; with `.svg` or `.png` behind its id it is a picture. What a file claims to
be is not believed: a browser saves it, and runs nothing of it.
"""

import re
from collections.abc import Callable
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.door import Handler
from rightseat.core.artifacts import Stored
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.runtime import Runtime
from rightseat.plugins import charts

CHART = "application/vnd.echarts+json"
PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
PLAIN_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(; ?charset=[\w-]+)?", re.ASCII)

SAFE = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "cache-control": "private, no-cache",
}
"""Headers of every file. It is made of what others said, so a page of it gets no origin and no scripts."""


class FileNotFound(RightseatError):
    code = "file_not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("There is no such file: it is somebody else's, or it went with its conversation.")


class NoPicture(RightseatError):
    code = "no_picture"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is no chart, so there is no picture of it. Leave out the ending of the address.")


def fetching(runtime: Runtime, refuse: Callable[[RightseatError], Response]) -> Handler:
    """For a route that ends in `{file}`."""

    async def handle(request: Request, principal: Principal) -> Response:
        try:
            return await fetch(runtime, request.path_params["file"], principal)
        except RightseatError as error:
            return refuse(error)

    return handle


async def fetch(runtime: Runtime, name: str, principal: Principal) -> Response:
    """`name` is an id, or that of a chart with the ending of a picture. Raises `FileNotFound` and `NoPicture`."""
    ending = next((one for one in PICTURES if name.endswith(one)), "")
    found = await runtime.artifact(name.removesuffix(ending), principal)
    if found is None:
        raise FileNotFound
    return await picture(found, ending) if ending else saved(found)


def saved(file: Stored) -> Response:
    kind = file.media_type if PLAIN_TYPE.fullmatch(file.media_type) else "application/octet-stream"
    headers = SAFE | {"content-disposition": disposition("attachment", file.name)}
    if file.media_type == CHART:
        headers["content-disposition"] = disposition("inline", f"{file.name}.json")
    return Response(file.content, headers=headers | {"content-type": kind})


async def picture(file: Stored, ending: str) -> Response:
    if file.media_type != CHART:
        raise NoPicture(file.name)
    option = msgspec.json.decode(file.content)
    drawn = charts.svg(option).encode() if ending == ".svg" else await charts.png(option)
    shown = disposition("inline", f"{file.name}{ending}")
    return Response(drawn, headers=SAFE | {"content-disposition": shown, "content-type": PICTURES[ending]})


def disposition(kind: str, name: str) -> str:
    """Its name as RFC 6266 writes it: plain for old clients, and whole. No part of it is a path."""
    last = re.sub(r"[\x00-\x1f\x7f]", "", name.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
    plain = re.sub(r'[^ -~]|["\\%]', "_", last)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"
