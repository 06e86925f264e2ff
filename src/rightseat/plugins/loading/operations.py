"""One method of one path → an operation."""

import re

from rightseat.plugins.definition import Auth, Body, Operation, Parameter, Schema
from rightseat.plugins.loading import bodies
from rightseat.plugins.loading.auth import is_forbidden
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.plugins.loading.references import References
from rightseat.plugins.loading.schemas import Translator

PLACES = ("path", "query", "header", "cookie")
STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
WITH_BODY = ("post", "put", "patch")
_IN_PATH = re.compile(r"\{([^{}]+)\}")


class OperationReader:
    def __init__(self, references: References, translator: Translator, auth: tuple[Auth, ...], notes: Notes) -> None:
        self._references = references
        self._translator = translator
        self._notes = notes
        self._ids: dict[str, Node] = {}
        self._set = {(_PLACE_OF[one.type], _folded(one.type, name)) for one in auth for name in _names_of(one)}

    def read(self, method: str, path: str, node: Node, item: Node) -> Operation:
        fields = Fields(node, self._notes, "E231")
        parameters = self._read_parameters(path, node, item)
        body, more = self._read_body(method, node)
        response, statuses, response_description = self._read_responses(node)
        danger = fields.flag("x-dangerous")
        return Operation(
            method.upper(),
            path,
            self._read_id(fields),
            self._read_description(fields),
            (*parameters, *(one for one in more if one.name not in {p.name for p in parameters})),
            body,
            response,
            statuses,
            fields.flag("dangerous") if danger is None else danger,
            self._read_request_description(node),
            response_description,
        )

    def _read_id(self, fields: Fields) -> str | None:
        id = fields.text("operationId")
        node = fields.node.get("operationId")
        if not id or node is None:
            return None
        if id in self._ids:
            said = f"the operationId {id!r} is given twice."
            self._notes.add("E209", node, said, "ids are unique in a document")
        self._ids.setdefault(id, node)
        return id

    def _read_description(self, fields: Fields) -> str:
        description = fields.text("description").strip()
        if description:
            return description
        summary = fields.text("summary").strip()
        if summary:
            said = "the operation has no description; its summary is used."
            self._notes.add("W205", fields.node, said, "say function, input and output", at="key")
        else:
            said = "the operation has no description: no model can choose it well."
            self._notes.add("W206", fields.node, said, "say function, input and output", at="key")
        return summary

    def _read_parameters(self, path: str, node: Node, item: Node) -> list[Parameter]:
        found: dict[tuple[str, str], Parameter] = {}
        for owner in (item, node):
            written = owner.get("parameters")
            for one in written.elements() if written else ():
                if parameter := self._read_parameter(one):
                    found[parameter.place, parameter.name] = parameter
        wanted = _IN_PATH.findall(path)
        for name in wanted:
            if ("path", name) not in found:
                said = f"the path has {{{name}}}, which is no parameter; it is read as text."
                self._notes.add("W211", node, said, "add it to `parameters`, with a description", at="key")
                found["path", name] = Parameter(name, "path", {"type": "string"}, required=True, style="simple")
        for place, name in list(found):
            if place == "path" and name not in wanted:
                said = f"the path has no {{{name}}}; the parameter is ignored."
                self._notes.add("W211", node, said, at="key")
                del found[place, name]
        return list(found.values())

    def _read_parameter(self, written: Node) -> Parameter | None:
        node = self._references.follow(written)
        if node is None:
            return None
        name, place = (node.value.get(key) if isinstance(node.value, dict) else None for key in ("name", "in"))
        if not isinstance(name, str) or not name or place not in PLACES:
            said = f"a parameter needs a `name`, and `in` as one of: {', '.join(PLACES)}."
            self._notes.add("E231", node, said)
            return None
        if place == "header" and is_forbidden(name):
            self._notes.add("E402", node, f"the header {name!r} cannot be a parameter.")
            return None
        if (place, _folded(place, name)) in self._set:
            self._notes.add(
                "W114", node, f"`auth` sets {name!r}; the model does not see it.", "leave the parameter out"
            )
            return None
        fields = Fields(node, self._notes, "E231")
        style = fields.text("style") or STYLES[place]
        explode = fields.flag("explode")
        schema, is_json = self._read_schema(node)
        return Parameter(
            name,
            place,
            schema,
            place == "path" or bool(fields.flag("required")),
            fields.text("description"),
            "json" if is_json else style,
            style == "form" if explode is None else explode,
            bool(fields.flag("deprecated")),
        )

    def _read_schema(self, node: Node) -> tuple[Schema, bool]:
        """A parameter with `content` is sent as JSON text."""
        content = node.get("content")
        written = next((one.get("schema") for _, one in content.items()), None) if content else node.get("schema")
        schema = self._translator.translate(written, "request") if written else {}
        example = node.value.get("example")
        if example is not None and "examples" not in schema:
            schema = {**schema, "examples": [example]}
        return schema, content is not None

    def _read_body(self, method: str, node: Node) -> tuple[Body | None, list[Parameter]]:
        written = node.get("requestBody")
        if written is None:
            if method in WITH_BODY:
                self._notes.add("W207", node, f"a {method} without `requestBody`.", at="key")
            return None, []
        found = self._references.follow(written)
        if found is None:
            return None, []
        body = bodies.read(found, self._references, self._translator, self._notes)
        if method in WITH_BODY or body is None:
            return body, []
        said = f"a {method} has no body; its properties are query parameters."
        self._notes.add("W208", written, said, "use `parameters`", at="key")
        return None, [one for one in bodies.as_query(body) if ("query", one.name) not in self._set]

    def _read_request_description(self, node: Node) -> str:
        written = node.get("requestBody")
        found = self._references.follow(written) if written is not None else None
        if found is None or not isinstance(found.value, dict):
            return ""
        return Fields(found, self._notes, "E231").text("description").strip()

    def _read_responses(self, node: Node) -> tuple[Schema | None, dict[str, str], str]:
        """The schema of the best response, the descriptions by status, and the description of the best."""
        responses = node.get("responses")
        if responses is None or not isinstance(responses.value, dict):
            self._notes.add("W210", node, "the operation has no `responses`.", "say what comes back", at="key")
            return None, {}, ""
        statuses: dict[str, str] = {}
        schemas: dict[str, Schema | None] = {}
        for status, written in responses.items():
            answer = self._references.follow(written)
            if answer is not None and isinstance(answer.value, dict) and not status.startswith("x-"):
                statuses[status] = str(answer.value.get("description") or "")
                if status.startswith("2") or status == "default":
                    content = bodies.json_content(answer)
                    schema = content and content.get("schema")
                    schemas[status] = self._translator.translate(schema, "response") if schema else None
        best = min(schemas, key=_rank, default=None)
        return (None, statuses, "") if best is None else (schemas[best], statuses, statuses[best].strip())


def _rank(status: str) -> tuple[int, str]:
    """`200`, then another 2nn, then `2XX`, then `default`."""
    return (0 if status == "200" else 3 if status == "default" else 1 if status.isdecimal() else 2, status)


_PLACE_OF = {"header": "header", "oidc": "header", "cookie": "cookie", "param": "query"}


def _names_of(auth: Auth) -> list[str]:
    return [auth.args.get("header", "Authorization")] if auth.type == "oidc" else list(auth.args)


def _folded(place: str, name: str) -> str:
    """Names of headers are the same in upper and lower case."""
    return name.lower() if place in ("header", "oidc") else name
