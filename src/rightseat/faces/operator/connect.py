"""How clients connect: the faces that clients use, and code for each that runs when it is pasted."""

import importlib
import pkgutil
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import ModuleType

import msgspec
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest
from rightseat.core.faces import ServedFace
from rightseat.faces._shared.base_url import BASE_PATH, PUBLIC_URL, base_url
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator import snippets
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.faces.operator.snippet import SnippetTarget
from rightseat.operations.rights import OperatorNotFound

SUFFIX = "_client"
ORDER = ("copilotkit", "ai_sdk", "openai", "openbb", "mcp")
"""The faces that a list begins with; all others follow by name."""
ADDRESS = re.compile(r"https?://[\w.:\[\]-]+(/[\w.~/-]*)?", re.ASCII)
"""Nothing that a shell or a string literal would interpret."""
MAX_ADDRESS_CHARS = 500


class FaceLine(msgspec.Struct, frozen=True):
    """A face that clients connect to. One that is not `configured` has no path; `yaml` adds it to the file.

    `agents` are those that the face offers and the user may use.
    """

    face: str
    name: str
    configured: bool
    requires_key: bool
    agents: Sequence[str]
    yaml: str


class ConnectRoutes:
    """`agents` are all agents, `faces` those of the configuration; `path` is that of the operator face."""

    def __init__(self, agents: Collection[str], faces: Sequence[ServedFace], auth: RouteAuth, path: str) -> None:
        self._agents = agents
        self._faces = faces
        self._auth = auth
        self._path = path.rstrip("/")
        self._modules = load_modules()

    def routes(self) -> Routes:
        return {("GET", "snippets"): self.list, ("GET", "snippets/{face}"): self.show}

    async def list(self, request: OperatorRequest) -> Response:
        return json_response([self._describe(name, request.principal) for name in self._modules])

    async def show(self, request: OperatorRequest) -> Response:
        """`agent` is the agent that the code asks, by default the first. `address` is that of the server as the client
        reaches it: a page knows the prefix of a proxy, which a request does not have. `server.public_url` wins."""
        name, query = request.id("face"), request.http.query_params
        face = self._find(name)
        if face is None or name not in self._modules:
            known = ", ".join(one for one in self._modules if self._find(one))
            raise OperatorNotFound(f"There is no code for the face {name[:40]!r}. Configured faces: {known}.")
        agents = [*self._list_agents(face, request.principal)]
        agent = query.get("agent") or next(iter(agents), "default")
        if agents and agent not in agents:
            raise BadRequest(f"The face {name} does not offer {agent[:40]!r}. It offers {', '.join(agents)}.")
        address = read_address(query) or base_url(request.http) + self._find_mount(request)
        if public := request.http.scope.get(PUBLIC_URL):
            address = str(public)
        target = SnippetTarget(address + face.path, face.path, agent, face.requires_key)
        return json_response(self._modules[name].build_snippets(target))

    def _describe(self, name: str, principal: Principal) -> FaceLine:
        face = self._find(name)
        return FaceLine(
            name,
            self._modules[name].NAME,
            face is not None,
            face is not None and face.requires_key,
            [*self._list_agents(face, principal)] if face else (),
            f"faces:\n  - {{type: {name}}}\n",
        )

    def _find(self, name: str) -> ServedFace | None:
        """Of several faces of one type, the first of the file."""
        return next((face for face in self._faces if face.type == name), None)

    def _list_agents(self, face: ServedFace, principal: Principal) -> Iterator[str]:
        for name in self._agents:
            if (face.agents is None or name in face.agents) and self._auth.may_use(principal, name):
                yield name

    def _find_mount(self, request: OperatorRequest) -> str:
        """The path below which another application serves this router, as this very request shows it."""
        scope = request.http.scope
        if BASE_PATH in scope:
            return ""  # is in `base_url`
        root = scope.get("app_root_path", scope.get("root_path", ""))  # is in `base_url`
        return str(scope["path"].removeprefix(root).rpartition(f"{self._path}/snippets/")[0])


def load_modules() -> Mapping[str, ModuleType]:
    """The modules of `snippets`, by the name of their face."""
    files = [one.name for one in pkgutil.iter_modules(snippets.__path__) if one.name.endswith(SUFFIX)]
    found = {name.removesuffix(SUFFIX): importlib.import_module(f"{snippets.__name__}.{name}") for name in files}
    return {name: found[name] for name in sorted(found, key=lambda name: (rank(name), name))}


def rank(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def read_address(query: Mapping[str, str]) -> str | None:
    """Raises `BadRequest`."""
    address = query.get("address")
    if address is not None and not (len(address) <= MAX_ADDRESS_CHARS and ADDRESS.fullmatch(address)):
        raise BadRequest("address must be that of a server, such as https://copilot.example.com/prefix.")
    return address.rstrip("/") if address else None
