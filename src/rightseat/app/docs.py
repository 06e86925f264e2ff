"""`/docs` and `/openapi.json`: the routes of this server, for people and for programs.

FastAPI's own pages load scripts from a CDN and do not list the routes of faces. This page has no scripts. Both require
a key if there are keys.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.faces._shared.responses import json_response

SECURITY_HEADERS = {"content-security-policy": "default-src 'none'", "x-content-type-options": "nosniff"}


def routes(app: FastAPI, faces: Sequence[BaseRoute], auth: RouteAuth) -> list[Route]:
    found = list(list_routes([*app.routes, *faces]))

    async def page(request: Request, principal: Principal) -> Response:
        return HTMLResponse(write_page(app.title, app.version, found), headers=SECURITY_HEADERS)

    async def document(request: Request, principal: Principal) -> Response:
        return json_response(build_openapi(app.title, app.version, found))

    return [
        Route("/docs", auth.protect(page, refuse), methods=["GET"]),
        Route("/openapi.json", auth.protect(document, refuse), methods=["GET"]),
    ]


def refuse(error: RightseatError) -> Response:
    return json_response({"error": error.code, "message": error.message}, error.status)


def list_routes(served: Iterable[BaseRoute]) -> Iterator[tuple[str, str, Iterable[str]]]:
    """The method, the path and the names of its parameters, for each route."""
    for route in served:
        if isinstance(route, Route):
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield method, route.path_format, route.param_convertors


def write_page(title: str, version: str, found: Iterable[tuple[str, str, Iterable[str]]]) -> str:
    name = f"{escape(title)} {escape(version)}"
    rows = "\n".join(f"<tr><td>{method}<td><code>{escape(path)}</code>" for method, path, _ in found)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{name}</title>\n<h1>{name}</h1>\n'
        f'<p>The same for programs: <a href="openapi.json">openapi.json</a>\n<table>\n{rows}\n</table>\n'
    )


def build_openapi(title: str, version: str, found: Iterable[tuple[str, str, Iterable[str]]]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for method, path, names in found:
        parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
        responses = {"default": {"description": "As the protocol of this route defines."}}
        paths.setdefault(path, {})[method.lower()] = {"parameters": parameters, "responses": responses}
    return {"openapi": "3.1.0", "info": {"title": title, "version": version}, "paths": paths}
