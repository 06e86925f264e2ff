"""Reads one method of one OpenAPI path into an `Operation`."""

import re

from rightseat.plugins.definition import Auth, Operation, Parameter, RequestBody, Schema
from rightseat.plugins.loading import bodies
from rightseat.plugins.loading.auth import is_forbidden_header
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode
from rightseat.plugins.loading.references import References
from rightseat.plugins.loading.schemas import SchemaTranslator

PLACES = ("path", "query", "header", "cookie")
STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
METHODS_WITH_BODY = ("post", "put", "patch")
_PATH_PARAMETER = re.compile(r"\{([^{}]+)\}")


class OperationReader:
    def __init__(
        self, references: References, translator: SchemaTranslator, auth: tuple[Auth, ...], report: DiagnosticReport
    ) -> None:
        self._references = references
        self._translator = translator
        self._report = report
        self._ids: dict[str, SourceNode] = {}
        self._names_set_by_auth = {
            (_AUTH_PLACES[one.type], _normalize_name(one.type, name)) for one in auth for name in _list_auth_names(one)
        }

    def read(self, method: str, path: str, node: SourceNode, item: SourceNode) -> Operation:
        fields = Fields(node, self._report, "E231")
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
            message = f"the operationId {id!r} is used twice."
            self._report.add("E209", node, message, "make it unique in the document")
        self._ids.setdefault(id, node)
        return id

    def _read_description(self, fields: Fields) -> str:
        description = fields.text("description").strip()
        if description:
            return description
        summary = fields.text("summary").strip()
        if summary:
            message = "the operation has no description; its summary is used."
            self._report.add("W205", fields.node, message, "describe function, input and output", at="key")
        else:
            message = "the operation has no description; models cannot choose it reliably."
            self._report.add("W206", fields.node, message, "describe function, input and output", at="key")
        return summary

    def _read_parameters(self, path: str, node: SourceNode, item: SourceNode) -> list[Parameter]:
        found: dict[tuple[str, str], Parameter] = {}
        for owner in (item, node):
            written = owner.get("parameters")
            for one in written.elements() if written else ():
                if parameter := self._read_parameter(one):
                    found[parameter.place, parameter.name] = parameter
        wanted = _PATH_PARAMETER.findall(path)
        for name in wanted:
            if ("path", name) not in found:
                message = f"the path has {{{name}}}, which is not declared as a parameter; it is read as text."
                self._report.add("W211", node, message, "add it to `parameters`, with a description", at="key")
                found["path", name] = Parameter(name, "path", {"type": "string"}, required=True, style="simple")
        for place, name in list(found):
            if place == "path" and name not in wanted:
                message = f"the path has no {{{name}}}; the parameter is ignored."
                self._report.add("W211", node, message, at="key")
                del found[place, name]
        return list(found.values())

    def _read_parameter(self, written: SourceNode) -> Parameter | None:
        node = self._references.follow(written)
        if node is None:
            return None
        name, place = (node.value.get(key) if isinstance(node.value, dict) else None for key in ("name", "in"))
        if not isinstance(name, str) or not name or place not in PLACES:
            message = f"a parameter needs a `name`, and `in` as one of: {', '.join(PLACES)}."
            self._report.add("E231", node, message)
            return None
        if place == "header" and is_forbidden_header(name):
            self._report.add("E402", node, f"the header {name!r} cannot be a parameter.")
            return None
        if (place, _normalize_name(place, name)) in self._names_set_by_auth:
            self._report.add(
                "W114", node, f"`auth` sets {name!r}; it is hidden from the model.", "remove the parameter"
            )
            return None
        fields = Fields(node, self._report, "E231")
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

    def _read_schema(self, node: SourceNode) -> tuple[Schema, bool]:
        """A parameter with `content` is sent as JSON text."""
        content = node.get("content")
        written = next((one.get("schema") for _, one in content.items()), None) if content else node.get("schema")
        schema = self._translator.translate(written, "request") if written else {}
        example = node.value.get("example")
        if example is not None and "examples" not in schema:
            schema = {**schema, "examples": [example]}
        return schema, content is not None

    def _read_body(self, method: str, node: SourceNode) -> tuple[RequestBody | None, list[Parameter]]:
        written = node.get("requestBody")
        if written is None:
            if method in METHODS_WITH_BODY:
                self._report.add("W207", node, f"the {method} operation has no `requestBody`.", at="key")
            return None, []
        found = self._references.follow(written)
        if found is None:
            return None, []
        body = bodies.read(found, self._references, self._translator, self._report)
        if method in METHODS_WITH_BODY or body is None:
            return body, []
        message = f"a {method} request has no body; its properties become query parameters."
        self._report.add("W208", written, message, "use `parameters`", at="key")
        return None, [
            one for one in bodies.to_query_parameters(body) if ("query", one.name) not in self._names_set_by_auth
        ]

    def _read_request_description(self, node: SourceNode) -> str:
        written = node.get("requestBody")
        found = self._references.follow(written) if written is not None else None
        if found is None or not isinstance(found.value, dict):
            return ""
        return Fields(found, self._report, "E231").text("description").strip()

    def _read_responses(self, node: SourceNode) -> tuple[Schema | None, dict[str, str], str]:
        """Return the schema of the best response, the descriptions by status, and the best one's description."""
        responses = node.get("responses")
        if responses is None or not isinstance(responses.value, dict):
            self._report.add("W210", node, "the operation has no `responses`.", "describe the response", at="key")
            return None, {}, ""
        statuses: dict[str, str] = {}
        schemas: dict[str, Schema | None] = {}
        for status, written in responses.items():
            response = self._references.follow(written)
            if response is not None and isinstance(response.value, dict) and not status.startswith("x-"):
                statuses[status] = str(response.value.get("description") or "")
                if status.startswith("2") or status == "default":
                    content = bodies.find_json_content(response)
                    schema = content and content.get("schema")
                    schemas[status] = self._translator.translate(schema, "response") if schema else None
        best = min(schemas, key=_rank, default=None)
        return (None, statuses, "") if best is None else (schemas[best], statuses, statuses[best].strip())


def _rank(status: str) -> tuple[int, str]:
    """Order: `200`, other 2nn, `2XX`, `default`."""
    return (0 if status == "200" else 3 if status == "default" else 1 if status.isdecimal() else 2, status)


_AUTH_PLACES = {"header": "header", "oidc": "header", "cookie": "cookie", "param": "query"}


def _list_auth_names(auth: Auth) -> list[str]:
    return [auth.args.get("header", "Authorization")] if auth.type == "oidc" else list(auth.args)


def _normalize_name(place: str, name: str) -> str:
    """Header names are case-insensitive."""
    return name.lower() if place in ("header", "oidc") else name
