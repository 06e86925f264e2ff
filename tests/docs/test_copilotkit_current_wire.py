"""The page about CopilotKit's current wire names every operation, and every error."""

import re
from pathlib import Path

from rightseat.access.route_auth import RouteAuth
from rightseat.app import assemble
from rightseat.config import parse
from rightseat.core.errors import RightseatError
from rightseat.faces.copilotkit import Options, operations
from rightseat.faces.copilotkit.current import app, routing, threads
from rightseat.faces.copilotkit.current.routing import METHODS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "copilotkit-current-wire.md"


def table(heading: str) -> list[list[str]]:
    """The cells of the first table behind these words."""
    rows = PAGE.read_text().split(heading, 1)[1].split("\n|", 1)[1].split("\n\n", 1)[0].split("\n")
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_every_operation_is_on_the_page() -> None:
    runtime = assemble(parse("", environ={})).runtime
    routes = operations(runtime, Options(), RouteAuth("copilotkit"))

    assert {row[0] for row in table("## Operations")} == {f"`{method} {path}`" for method, path in routes}


def test_every_method_of_an_envelope_is_on_the_page() -> None:
    named = {name for row in table("In one address") for name in re.findall("`([^`]+)`", row[0])}

    assert named == {*METHODS, "resource/request"}


def test_every_error_of_the_face_is_on_the_page_with_its_status() -> None:
    told = {(row[0], code) for row in table("## Errors") for code in re.findall("`([^`]+)`", row[1])}
    own = [
        error
        for module in (threads, routing, app)
        for error in vars(module).values()
        if isinstance(error, type) and issubclass(error, RightseatError) and error.__module__ == module.__name__
    ]

    assert own
    for error in own:
        assert (str(error.status), error.code) in told
