"""openapi.yaml: servers, operations, references and schemas."""

import time

import jsonschema_rs
import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Operation, Plugin, Schema
from rightseat.plugins.loading import LoadResult, OperatorSettings, PluginLimits
from rightseat.plugins.loading.deref import inline_references
from rightseat.plugins.operations.validation import find_violations
from tests.plugins.loading.sample import OPENAPI, SAMPLE, codes, load, one, schema, spoilt

JOB = "POST /jobs"
THING = "GET /things/{id}"
O = "openapi.yaml"  # noqa: E741


def plugin(loaded: LoadResult) -> Plugin:
    assert loaded.plugin is not None, [str(one) for one in loaded.diagnostics]
    return loaded.plugin


def job(files: dict[str, str]) -> Operation:
    return plugin(load(files)).operations[JOB]


def size(text: str, version: str = "3.0.3") -> Schema:
    """What becomes of one schema of a request."""
    body = job(schema(text, version)).body
    assert body is not None
    properties = body.schema["properties"]
    assert isinstance(properties, dict)
    found = properties["size"]
    assert isinstance(found, dict)
    return found


def accepts(schema: Schema, value: object) -> bool:
    return jsonschema_rs.validator_for(dict(schema)).is_valid(value)


def test_R_4_every_field_of_an_operation_is_read() -> None:
    found = plugin(load())

    thing = found.operations[THING]
    assert (thing.method, thing.path, thing.id, thing.description) == (
        "GET",
        "/things/{id}",
        "get_thing",
        "One thing by its id.",
    )
    (id,) = thing.parameters
    assert (id.name, id.place, id.required, id.style, id.explode) == ("id", "path", True, "simple", False)
    assert thing.response == {"type": "object"}
    assert thing.statuses == {"200": "The thing."}
    assert found.server == "https://api.example.com/v1"
    assert found.operation("get  /things/{id}") is thing
    assert found.operation("get_thing") is thing


def test_R_4_the_operator_chooses_the_server_and_its_variables() -> None:
    first = "  - url: https://{zone}.example.com/\n    variables: {zone: {default: eu}}\n"
    two = f"servers:\n{first}  - {{url: 'https://b.example', description: spare}}\n"
    files = spoilt(O, "servers:\n  - url: https://api.example.com/v1\n", two)

    assert plugin(load(files)).server == "https://eu.example.com"
    assert plugin(load(files, operator=OperatorSettings(server=1))).server == "https://b.example"
    assert plugin(load(files, operator=OperatorSettings(server="spare"))).server == "https://b.example"
    assert plugin(load(files, operator=OperatorSettings(variables={"zone": "us"}))).server == "https://us.example.com"
    assert codes(load(files)) == ["W202"]


def test_R_4_parameters_of_a_path_are_merged() -> None:
    shared = "  /jobs:\n    parameters: [{name: dry, in: query, schema: {type: boolean}, description: d}]\n"

    (dry,) = job(spoilt(O, "  /jobs:\n", shared)).parameters

    assert (dry.name, dry.place, dry.style, dry.explode) == ("dry", "query", "form", True)


def test_R_4_a_body_of_a_get_becomes_query_parameters() -> None:
    query = "{type: object, required: [q], properties: {q: {type: string}}}"
    body = f"      requestBody: {{content: {{application/json: {{schema: {query}}}}}}}\n"
    found = load(spoilt(O, "      operationId: get_thing\n", f"{body}      operationId: get_thing\n"))

    operation = plugin(found).operations[THING]
    assert operation.body is None
    assert [(one.name, one.place, one.required) for one in operation.parameters] == [
        ("id", "path", True),
        ("q", "query", True),
    ]


@pytest.mark.parametrize(
    ("types", "kind"),
    [
        (["application/vnd.api+json"], "json"),
        (["multipart/form-data", "application/json"], "json"),
        (["multipart/form-data", "application/x-www-form-urlencoded"], "form"),
        (["application/xml", "multipart/form-data"], "multipart"),
        (["application/json; charset=utf-8"], "json"),
        (["x-www-form-urlencoded"], "form"),
    ],
)
def test_R_4_the_first_supported_content_type_is_used(types: list[str], kind: str) -> None:
    content = "".join(f"          {one}: {{schema: {{type: object}}}}\n" for one in types)
    before, rest = OPENAPI.split("        content:\n          application/json:\n            schema:\n")
    after = rest[rest.index("      responses:") :]

    body = job({**SAMPLE, O: f"{before}        content:\n{content}{after}"}).body

    assert body is not None
    assert body.media_type == kind


def test_descriptions_of_the_request_body_and_of_the_response_are_read() -> None:
    found = job(spoilt(O, "requestBody:\n        required: true", "requestBody:\n        description: What to start."))

    assert found.request_description == "What to start."
    assert found.response_description == "The job."


@pytest.mark.parametrize(("status", "is_used"), [("201", True), ("2XX", True), ("default", True), ("404", False)])
def test_R_4_the_response_schema_may_be_of_any_2xx_status(status: str, is_used: bool) -> None:
    found = plugin(
        load(spoilt(O, "'200':\n          description: The thing.", f"{status}:\n          description: The thing."))
    )

    assert (found.operations[THING].response is not None) == is_used


@pytest.mark.parametrize(
    ("written", "dangerous"), [("x-dangerous: true", True), ("dangerous: true", True), ("x-dangerous: false", False)]
)
def test_R_4_an_operation_can_be_marked_as_dangerous(written: str, dangerous: bool) -> None:
    found = job(spoilt(O, "      operationId: start_job\n", f"      operationId: start_job\n      {written}\n"))

    assert found.dangerous is dangerous


def test_R_4_1_references_are_resolved() -> None:
    components = "components:\n  schemas:\n    Size: {type: integer, minimum: 1}\n"
    files = schema("$ref: '#/components/schemas/Size'")
    files[O] += components

    body = job(files).body

    assert body is not None
    assert body.schema["properties"] == {"size": {"type": "integer", "minimum": 1}}


def test_R_4_1_references_may_point_to_files_of_the_folder() -> None:
    files = schema("$ref: 'data/sizes.yaml#/Size'") | {"data/sizes.yaml": "Size: {type: integer, maximum: 3}\n"}
    body = job(files).body
    assert body is not None
    assert body.schema["properties"] == {"size": {"type": "integer", "maximum": 3}}


@pytest.mark.parametrize(
    "reference",
    [
        "#/nowhere",
        "https://e.com/a.yaml",
        "//e.com/a",
        "/etc/passwd",
        "../other/openapi.yaml",
        "file:///etc/x.yaml",
        "lib/x.py",
    ],
)
def test_R_4_1_other_references_are_errors(reference: str) -> None:
    found = load(schema(f"$ref: '{reference}'"))

    assert one(found, "E211").file == O


def test_R_4_1_recursion_is_kept_for_validation_and_cut_for_the_model() -> None:
    files = schema("$ref: '#/components/schemas/Tree'")
    files[O] += (
        "components:\n  schemas:\n    Tree: {type: object, properties: {name: {type: string}, "
        "kids: {type: array, items: {$ref: '#/components/schemas/Tree'}}}}\n"
    )

    body = job(files).body
    assert body is not None
    tree = {"name": "a", "kids": [{"name": "b", "kids": [{"name": 3}]}]}
    assert not accepts(body.schema, {"size": tree})
    assert accepts(body.schema, {"size": {"name": "a", "kids": [{"kids": []}]}})

    seen = str(inline_references(body.schema))
    assert "$ref" not in seen
    assert seen.count("'kids'") == 6


def test_R_4_1_references_that_multiply_are_refused() -> None:
    levels = "".join(
        f"    L{n}: {{type: object, properties: {{a: {{$ref: '#/components/schemas/L{n + 1}'}}, "
        f"b: {{$ref: '#/components/schemas/L{n + 1}'}}}}}}\n"
        for n in range(40)
    )
    files = schema("$ref: '#/components/schemas/L0'")
    files[O] += f"components:\n  schemas:\n{levels}    L40: {{type: string}}\n"

    assert one(load(files), "E230").file == O


def test_R_4_1_reference_cycles_are_refused() -> None:
    files = spoilt(O, "        - name: id\n", "        - $ref: '#/components/parameters/a'\n        - name: id\n")
    files[O] += "components:\n  parameters:\n    a: {$ref: '#/components/parameters/a'}\n"

    assert "E211" in codes(load(files))


def test_R_4_1_a_long_chain_of_references_ends_in_a_diagnostic() -> None:
    chain = "".join(f"    L{n}: {{items: {{$ref: '#/components/schemas/L{n + 1}'}}}}\n" for n in range(500))
    files = schema("$ref: '#/components/schemas/L0'")
    files[O] += f"components:\n  schemas:\n{chain}    L500: {{type: string}}\n"

    assert "E230" in codes(load(files))


def test_R_4_2_an_empty_response_schema_allows_any_json() -> None:
    found = plugin(load(spoilt(O, "schema: {type: object}", "schema: {}")))

    assert found.operations[THING].response == {}
    assert found.operations[JOB].response is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("{type: string, nullable: true}", {"type": ["string", "null"]}),
        ("{type: string, nullable: true, enum: [a]}", {"type": ["string", "null"], "enum": ["a", None]}),
        ("{type: integer, minimum: 1, exclusiveMinimum: true}", {"type": "integer", "exclusiveMinimum": 1}),
        ("{type: integer, maximum: 9, exclusiveMaximum: false}", {"type": "integer", "maximum": 9}),
        ("{type: string, example: x}", {"type": "string", "examples": ["x"]}),
    ],
)
def test_R_4_schemas_of_3_0_are_translated(written: str, meant: Schema) -> None:
    files = schema("x: 1")
    files[O] = files[O].replace("size:\n                  x: 1", f"size: {written}")
    body = job(files).body

    assert body is not None
    assert body.schema["properties"] == {"size": meant}


@pytest.mark.parametrize(
    ("written", "meant", "code"),
    [
        ("type: any", {}, "W220"),
        ("type: timestamp", {"type": ["integer", "string"], "x-timestamp": True}, "W221"),
        ("type: date", {"type": "string", "format": "date"}, "W222"),
        ("type: boolean", {"type": "boolean"}, None),
        ("type: [integer, 'null']", {"type": ["integer", "null"]}, None),
    ],
)
def test_R_4_nonstandard_types_are_mapped_to_json_schema(written: str, meant: Schema, code: str | None) -> None:
    assert size(written, "3.1.0") == meant
    assert codes(load(schema(written, "3.1.0"))) == ([code] if code else [])


def test_R_4_allOf_schemas_are_merged() -> None:
    both = "allOf: [{type: object, properties: {a: {type: string}}, required: [a]}, {properties: {b: {type: string}}}]"

    assert size(both) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a"],
    }


def test_R_4_an_invalid_json_schema_is_reported() -> None:
    assert "E231" in codes(load(schema("minimum: many")))


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [("[a-z]+", "ab", "ab1"), ("^a", "ab", "ba"), ("b$", "ab", "ba"), ("a|b", "a", "ab"), (r"a\$", "a$", "ba$")],
)
def test_R_4_3_a_pattern_without_anchors_matches_the_whole_value(pattern: str, good: str, bad: str) -> None:
    found = size(f"type: string\n                  pattern: '{pattern}'")

    assert accepts(found, good)
    assert not accepts(found, bad)


def test_R_4_3_the_pattern_of_a_number_is_matched_against_its_text() -> None:
    assert size("type: integer\n                  pattern: '2'") == {"type": "integer", "x-text-pattern": "^(?:2)$"}


@pytest.mark.parametrize(
    ("written", "good", "bad"),
    [
        ("type: array\n                  pattern: '\\[\\d(,\\d)*\\]'", [1, 2.0], [1, 22]),
        ("type: object\n                  pattern: '.*\"a\":1.*'", {"b": 2, "a": 1}, {"b": 1}),
        ("type: boolean\n                  pattern: 'true'", True, False),
        ("type: [string, integer]\n                  pattern: '[1-3]'", 2, 4),
        ("type: [string, integer]\n                  pattern: '[1-3]'", "2", "4"),
        ("pattern: '\\[.*\\]'", ["a"], {"a": 1}),
    ],
)
def test_a_pattern_works_on_any_type(written: str, good: JsonValue, bad: JsonValue) -> None:
    found = size(written, "3.1.0")

    assert find_violations(found, good) == []
    assert find_violations(found, bad) != []


def test_a_pattern_accepts_null_where_the_type_allows_it() -> None:
    assert find_violations(size("type: [array, 'null']\n                  pattern: 'x'", "3.1.0"), None) == []
    assert find_violations(size("type: 'null'\n                  pattern: 'x'", "3.1.0"), None) != []


@pytest.mark.serial
def test_a_pattern_takes_linear_time_on_a_large_value_and_refuses_a_larger_one() -> None:
    found = size("type: array\n                  pattern: '(.*,)*(.*,)*x'")

    began = time.perf_counter()
    (fits_not,) = find_violations(found, [1] * 40_000)
    (too_long,) = find_violations(found, [1] * 60_000)

    assert time.perf_counter() - began < 5
    assert "does not match" in fits_not.text
    assert len(fits_not.text) < 400
    assert "more than 100,000 characters" in too_long.text


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1", "(", "[z-a]"])
def test_R_4_3_patterns_that_take_more_than_linear_time_are_errors(pattern: str) -> None:
    assert one(load(schema(f"type: string\n                  pattern: '{pattern}'")), "E222").pointer.endswith(
        "/pattern"
    )


def test_R_4_3_a_pattern_of_a_response_is_not_checked() -> None:
    found = plugin(load(spoilt(O, "schema: {type: object}", r"schema: {type: string, pattern: '(a)\1'}")))

    assert found.operations[THING].response == {"type": "string"}


def test_R_4_4_a_backslash_in_double_quotes_is_repaired_and_each_line_reported() -> None:
    two = 'type: string\n                  pattern: "[\\d].[\\d]"\n                  description: "a\\s"'
    found = load(schema(two))

    lines = [one.line for one in found.diagnostics if one.code == "W226"]
    assert len(lines) == 3
    assert lines[0] == lines[1] == lines[2] - 1
    body = plugin(found).operations[JOB].body
    assert body is not None
    assert "\\d" in str(body.schema)


def test_R_4_4_more_than_fifty_repairs_are_not_made() -> None:
    found = load(schema('description: "' + "\\d" * 51 + '"'))

    assert codes(found).count("W226") == 50
    assert "E223" in codes(found)


def test_R_4_4_in_strict_mode_nothing_is_repaired() -> None:
    assert one(load(schema('pattern: "\\d"'), "strict"), "E223").hint == r"use single quotes: '[\d]…'"


def test_R_4_5_defaults_and_single_values_stay_in_the_schema() -> None:
    assert size("type: integer\n                  default: 3") == {"type": "integer", "default": 3}


def test_R_4_6_requests_have_no_readOnly_and_responses_no_writeOnly_properties() -> None:
    marked = "{a: {type: string, readOnly: true}, b: {type: string, writeOnly: true}}"
    both = f"{{type: object, required: [a, b], properties: {marked}}}"
    lines = ("type: object", "required: [a, b]", f"properties: {marked}")
    files = schema("\n                  ".join(lines))
    files[O] = files[O].replace("schema: {type: object}", f"schema: {both}")
    found = plugin(load(files))

    body = found.operations[JOB].body
    assert body is not None
    sent = body.schema["properties"]
    assert isinstance(sent, dict)
    assert sent["size"]["required"] == ["b"]  # type: ignore[index, call-overload]  # JSON
    assert found.operations[THING].response == {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string", "readOnly": True}},
    }


def test_R_4_6_deprecated_parameters_are_marked() -> None:
    found = plugin(load(spoilt(O, "          in: path\n", "          in: path\n          deprecated: true\n")))

    assert found.operations[THING].parameters[0].deprecated


def test_R_4_7_file_fields_of_a_multipart_body_are_recognized() -> None:
    files = schema("type: string\n                  format: binary")
    many = "                more: {type: array, items: {type: string, contentMediaType: image/png}}\n"
    files[O] = files[O].replace(
        "          application/json:\n            schema:",
        "          multipart/form-data:\n            encoding: {size: {contentType: text/csv}}\n            schema:",
    )
    files[O] = files[O].replace("                size:\n", f"{many}                size:\n")

    body = job(files).body

    assert body is not None
    assert body.files == {"size", "more"}
    assert body.encodings == {"size": "text/csv"}


def test_R_4_8_x_file_content_of_a_response_is_kept() -> None:
    answer = "{type: object, properties: {name: {type: string}, content: {type: string, x-file-content: true}}}"
    found = plugin(load(spoilt(O, "schema: {type: object}", f"schema: {answer}")))

    assert "x-file-content" in str(found.operations[THING].response)


def test_R_4_deep_nesting_and_aliases_are_bounded() -> None:
    bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a]\n" + "".join(
        f"x{n}: &x{n} [" + ", ".join([f"*x{n - 1}"] * 9) + "]\n" for n in range(1, 9)
    )
    assert "E230" in codes(load({**SAMPLE, O: bomb}))
    assert "E230" in codes(load({**SAMPLE, O: "x: " + "[" * 65 + "]" * 65}))
    assert "E230" in codes(load({**SAMPLE, O: "x: &x [*x]"}))
    assert "E230" not in codes(load({**SAMPLE, O: "x: " + "[" * 63 + "]" * 63}))
    assert "E230" in codes(load(SAMPLE, limits=PluginLimits(max_depth=5)))


def test_yaml_merges_are_read() -> None:
    merged = (
        "openapi: 3.0.3\nx-base: &base {description: From the base of all., responses: {'200': {description: ok}}}\n"
    )
    document = (
        merged
        + "info: {title: t, version: '1'}\nservers: [{url: https://a.example}]\npaths: {/a: {get: {<<: *base}}}\n"
    )
    files = {**SAMPLE, O: document, "flows/look_up.yaml": SAMPLE["flows/look_up.yaml"].replace("/things/{id}", "/a")}

    assert plugin(load(files)).operations["GET /a"].description == "From the base of all."
