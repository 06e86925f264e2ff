"""From arguments to a request: paths, queries, headers, cookies and bodies, without a socket."""

import base64
from typing import Any

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Operation, RequestBody
from rightseat.plugins.operations.request import build_draft
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scope import Upload
from tests.plugins.operations.examples import body, operation, parameter, plugin

SERVER = "http://api.example.com/v1"


def written(one: Operation, **arguments: JsonValue) -> Any:
    return build_draft(plugin(SERVER), one, arguments, FILES)


def upload(name: str, content: bytes, kind: str = "text/csv") -> Upload:
    return Upload(name, name, kind, base64.b64encode(content).decode())


FILES = {"a.csv": upload("a.csv", b"x\n1\n"), 'b "2".json': upload('b "2".json', b"{}", "")}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("web-01", "/hosts/web-01/cves"),
        ("a/b", "/hosts/a%2Fb/cves"),
        ("a b?c#d&e=f", "/hosts/a%20b%3Fc%23d%26e%3Df/cves"),
        ("100%", "/hosts/100%25/cves"),
        ("杭州", "/hosts/%E6%9D%AD%E5%B7%9E/cves"),
        ("..a", "/hosts/..a/cves"),
        (5, "/hosts/5/cves"),
        (True, "/hosts/true/cves"),
    ],
)
def test_R_7_1_path_values_are_encoded_completely(value: JsonValue, path: str) -> None:
    one = operation(parameter("host", "path"), path="/hosts/{host}/cves")

    assert written(one, host=value).url == SERVER + path


@pytest.mark.parametrize(
    "value",
    [
        "", ".", "..", "../x", "a/../b", "a\\..\\b", "%2e%2e", "%2E.", "%252e%252e", "..%2f..", "a\r\nb", "a%0d%0ab",
        "\x00",
    ],
)  # fmt: skip
def test_R_7_1_dot_segments_and_empty_path_values_are_refused(value: str) -> None:
    one = operation(parameter("host", "path"), path="/hosts/{host}/cves")

    with pytest.raises(StepFailed) as failed:
        written(one, host=value)

    assert failed.value.code == "bad_path_value"


def test_a_missing_path_value_fails_with_slot_missing() -> None:
    with pytest.raises(StepFailed, match="requires host") as failed:
        written(operation(parameter("host", "path"), path="/hosts/{host}"))

    assert failed.value.code == "slot_missing"


LIST: JsonValue = ["blue", "bl ack"]
OBJECT: JsonValue = {"R": 100, "G": "a,b"}


@pytest.mark.parametrize(
    ("style", "explode", "value", "path"),
    [
        ("", False, LIST, "/c/blue,bl%20ack"),
        ("simple", False, OBJECT, "/c/R,100,G,a%2Cb"),
        ("simple", True, OBJECT, "/c/R=100,G=a%2Cb"),
        ("label", False, "blue", "/c/.blue"),
        ("label", False, LIST, "/c/.blue,bl%20ack"),
        ("label", True, LIST, "/c/.blue.bl%20ack"),
        ("label", False, OBJECT, "/c/.R,100,G,a%2Cb"),
        ("label", True, OBJECT, "/c/.R=100.G=a%2Cb"),
        ("matrix", False, "blue", "/c/;color=blue"),
        ("matrix", False, LIST, "/c/;color=blue,bl%20ack"),
        ("matrix", True, LIST, "/c/;color=blue;color=bl%20ack"),
        ("matrix", False, OBJECT, "/c/;color=R,100,G,a%2Cb"),
        ("matrix", True, OBJECT, "/c/;R=100;G=a%2Cb"),
    ],
)
def test_path_parameters_are_serialized_in_their_style(style: str, explode: bool, value: JsonValue, path: str) -> None:
    one = operation(parameter("color", "path", style=style, explode=explode), path="/c/{color}")

    assert written(one, color=value).url == SERVER + path


@pytest.mark.parametrize(
    ("style", "explode", "value", "query"),
    [
        ("", False, "a b&c", "color=a%20b%26c"),
        ("", False, LIST, "color=blue&color=bl%20ack"),
        ("", False, OBJECT, "R=100&G=a%2Cb"),
        ("form", True, LIST, "color=blue&color=bl%20ack"),
        ("form", False, LIST, "color=blue,bl%20ack"),
        ("form", False, OBJECT, "color=R,100,G,a%2Cb"),
        ("form", True, [], ""),
        ("spaceDelimited", False, LIST, "color=blue%20bl%20ack"),
        ("pipeDelimited", False, LIST, "color=blue%7Cbl%20ack"),
        ("deepObject", True, OBJECT, "color[R]=100&color[G]=a%2Cb"),
        ("", False, 0, "color=0"),
        ("", False, False, "color=false"),
        ("", False, "", "color="),
        ("", False, 0.5, "color=0.5"),
        ("", False, [{"a": 1}], "color=%7B%22a%22%3A1%7D"),
    ],
)
def test_query_parameters_are_serialized_in_their_style(
    style: str, explode: bool, value: JsonValue, query: str
) -> None:
    one = operation(parameter("color", "query", style=style, explode=explode))

    assert "&".join(written(one, color=value).query) == query


def test_headers_and_cookies_are_serialized() -> None:
    one = operation(parameter("X-Tags", "header"), parameter("session", "cookie"))

    arguments: dict[str, JsonValue] = {"X-Tags": ["a", "b"], "session": "x; admin=1"}

    draft = written(one, **arguments)

    assert (draft.headers, draft.cookies) == ((("X-Tags", "a,b"),), (("session", "x%3B%20admin%3D1"),))


@pytest.mark.parametrize("place", ["header", "cookie"])
@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b", "a\x7f", ["a", "b\r"]])
def test_R_7_2_a_control_character_in_a_header_or_a_cookie_is_refused(place: Any, value: JsonValue) -> None:
    with pytest.raises(StepFailed, match="control character"):
        written(operation(parameter("x", place)), x=value)


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Proxy-Authorization"])
def test_R_7_2_headers_of_the_connection_cannot_be_parameters(name: str) -> None:
    with pytest.raises(StepFailed, match="no parameter can set"):
        written(operation(parameter(name, "header")), **{name: "x"})


def test_parameters_with_one_name_in_two_places_are_distinguished() -> None:
    one = operation(
        parameter("id", "path"), parameter("id"), path="/t/{id}", method="POST", body=body("json", {"id": {}})
    )

    draft = written(one, **{"path.id": "p", "query.id": "q", "id": "b"})

    assert (draft.url, draft.query, draft.content.shown) == (f"{SERVER}/t/p", ("id=q",), {"id": "b"})


def test_an_argument_that_the_operation_does_not_take_is_refused() -> None:
    with pytest.raises(StepFailed, match=r"has no parameter other\. Its parameters: city"):
        written(operation(parameter("city")), other="x")


def test_a_json_body_keeps_its_values() -> None:
    one = operation(method="POST", body=body("json", {"a": {}, "b": {}, "c": {}}))

    content = written(one, a=0, b=False, c=["", None]).content

    assert (b"".join(content), content.media_type) == (b'{"a": 0, "b": false, "c": ["", null]}', "application/json")


def test_a_body_that_is_no_object_is_one_argument() -> None:
    one = operation(method="POST", body=RequestBody("json", {"type": "array", "items": {"type": "integer"}}, True))

    assert b"".join(written(one, body=[1, 2]).content) == b"[1, 2]"


def test_an_optional_body_without_arguments_is_not_sent() -> None:
    one = operation(method="POST", body=body("json", {"a": {}}, required=False))

    assert written(one).content is None


def test_R_7_3_form_fields_are_serialized_as_text() -> None:
    one = operation(method="POST", body=body("form", {"a": {}, "b": {}, "c": {}, "d": {}, "e": {}}))

    content = written(one, a=True, b=0.5, c=["x y", 2], d={"k": "v"}, e="ü&").content

    assert b"".join(content) == b"a=true&b=0.5&c=x+y&c=2&d=%7B%22k%22%3A%22v%22%7D&e=%C3%BC%26"
    assert content.media_type == "application/x-www-form-urlencoded"


def test_R_7_3_R_4_7_a_multipart_body_has_fields_and_files() -> None:
    fields = {"files": {"type": "array"}, "target": {}, "header": {}, "tags": {}}
    one = operation(method="POST", body=body("multipart", fields, files=frozenset({"files"})))

    content = written(one, files=["a.csv", 'b "2".json'], target="md", header=True, tags=["x", "y"]).content

    boundary = content.media_type.partition("boundary=")[2]
    parts = [
        'name="files"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\nx\n1\n',
        'name="files"; filename="b %222%22.json"\r\nContent-Type: application/json\r\n\r\n{}',
        'name="target"\r\n\r\nmd',
        'name="header"\r\n\r\ntrue',
        'name="tags"\r\n\r\nx',
        'name="tags"\r\n\r\ny',
    ]
    whole = "".join(f"--{boundary}\r\nContent-Disposition: form-data; {part}\r\n" for part in parts)
    assert b"".join(content).decode() == f"{whole}--{boundary}--\r\n"
    assert content.length == len(b"".join(content))
    assert content.shown["files"] == ["<a.csv, 4 bytes>", '<b "2".json, 2 bytes>']


@pytest.mark.parametrize("size", [0, 1, 2, 3, 49_151, 49_152, 49_153, 200_000])
def test_R_7_3_a_file_is_decoded_in_chunks(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    one = operation(method="POST", body=body("multipart", {"file": {}}, files=frozenset({"file"})))

    content = build_draft(plugin(SERVER), one, {"file": "f"}, {"f": upload("f.bin", data[:size])}).content

    assert content is not None
    pieces = list(content)
    assert b"".join(pieces[1:-2]) == data[:size]
    assert max(map(len, pieces)) <= 49_152
    assert content.length == sum(map(len, pieces))


@pytest.mark.parametrize(
    ("file", "declared", "words"),
    [
        ("other.csv", "", "no file 'other.csv'. Available files: a.csv"),
        ("a.csv", "image/*", "should be image/\\*"),
    ],
)
def test_R_7_3_a_file_must_be_of_this_conversation_and_of_a_declared_kind(file: str, declared: str, words: str) -> None:
    one = operation(
        method="POST", body=body("multipart", {"file": {}}, files=frozenset({"file"}), encodings={"file": declared})
    )
    with pytest.raises(StepFailed, match=words) as failed:
        written(one, file=file)

    assert failed.value.code == "slot_missing"


def test_a_file_with_invalid_base64_is_reported() -> None:
    one = operation(method="POST", body=body("multipart", {"file": {}}, files=frozenset({"file"})))

    with pytest.raises(StepFailed, match="not valid Base64"):
        build_draft(plugin(SERVER), one, {"file": "f"}, {"f": Upload("f", "f", "", "a*b=")})
