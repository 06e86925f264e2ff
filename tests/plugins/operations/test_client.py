"""Operations against real local servers: who sends them, what comes back, and what goes wrong."""

import asyncio
import base64
import json
from typing import Any

import msgspec
import pytest

from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import Secrets
from rightseat.egress.untrusted import UntrustedClient
from rightseat.plugins.definition import Auth
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.scope import Upload
from tests.plugins.operations.examples import OK, body, in_turn, json_answer, operation, parameter, plugin, sender
from tests.tcp import Visit, playing

KEY = Auth("header", {"X-Key": "Key ${secret:KEY}"})
LIST = operation(parameter("city"), description="Lists things.")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_R_3_1_R_3_4_all_of_auth_is_sent_with_every_method(method: str) -> None:
    auth = [
        KEY,
        Auth("param", {"k e": "${secret:PARAM}"}),
        Auth("cookie", {"session": "${secret:COOKIE}"}),
    ]
    one = operation(parameter("city"), parameter("c", "cookie"), method=method)
    async with playing(in_turn(json_answer("{}"))) as server:
        sends = sender(KEY="key-1", PARAM="a&b c", COOKIE="cookie-1")
        result = await sends.send(plugin(f"{server.url}/v1", auth=auth), one, {"city": "x", "c": "y"}, {})

    (request,) = server.requests
    assert request.line == f"{method} /v1/things?city=x&k%20e=a%26b%20c HTTP/1.1"
    assert (request.header("x-key"), request.header("cookie")) == ("Key key-1", "c=y; session=cookie-1")
    assert request.header("content-length") == (None if method in ("GET", "DELETE") else "0")
    assert result.record["request"] == {
        "method": method,
        "url": f"{server.url}/v1/things?city=x&k%20e=••••",
        "headers": {"X-Key": "Key ••••", "Cookie": "c=y; session=••••"},
        "body": None,
    }


async def test_R_3_6_a_missing_secret_fails_before_any_request() -> None:
    async with playing(in_turn(json_answer("{}"))) as server:
        oidc = Auth("oidc", {"token_url": f"{server.url}/token", "client_id": "c", "client_secret": "${secret:NONE}"})
        for auth in ([KEY], [oidc], [Auth("oidc", dict(oidc.args) | {"client_secret": "x" * 9}), KEY]):
            with pytest.raises(StepFailed, match="is missing") as failed:
                await sender().send(plugin(server.url, auth=auth), LIST, {}, {})
            assert failed.value.code == "secret_missing"

    assert server.visits == []


async def test_R_3_5_a_secret_is_sent_only_to_its_own_host(tmp_path: Any) -> None:
    secrets = Secrets(file=tmp_path / "secrets.json")
    secrets.store("KEY", "bound-secret", ["api.example.com"])
    async with playing(in_turn(json_answer("{}"))) as server:
        sends = OperationClient(UntrustedClient(), secrets, Redactor(), lambda plugin: ["127.0.0.1"])
        with pytest.raises(StepFailed, match=r"may not be sent to 127\.0\.0\.1"):
            await sends.send(plugin(server.url, auth=[KEY]), LIST, {}, {})

    assert server.visits == []


@pytest.mark.parametrize(
    ("auth", "name", "place"),
    [
        (KEY, "x-KEY", "header"),
        (Auth("param", {"key": "x" * 9}), "key", "query"),
        (Auth("param", {"a key": "x" * 9}), "a key", "query"),
        (Auth("cookie", {"sid": "x" * 9}), "sid", "cookie"),
        (Auth("oidc", {"token_url": "http://127.0.0.1:1/", "header": "access-token"}), "Access-Token", "header"),
    ],
)
async def test_R_3_8_an_argument_cannot_set_what_auth_sets(auth: Auth, name: str, place: Any) -> None:
    with pytest.raises(StepFailed, match="by the plugin's `auth`"):
        await sender(KEY="value").send(plugin(auth=[auth]), operation(parameter(name, place)), {name: "mine"}, {})


async def test_R_3_8_an_object_in_the_query_cannot_set_what_auth_sets() -> None:
    there = plugin(auth=[Auth("param", {"key": "x" * 9})])

    with pytest.raises(StepFailed, match="by the plugin's `auth`"):
        await sender().send(there, operation(parameter("filter")), {"filter": {"key": "mine"}}, {})


@pytest.mark.parametrize("response", [{"$ref": "#/$defs/None"}, {"type": "nothing"}])
async def test_R_7_9_an_invalid_response_schema_causes_a_warning(response: dict[str, Any]) -> None:
    async with playing(in_turn(json_answer("{}"))) as server:
        result = await sender().send(plugin(server.url), operation(response=response), {}, {})

    assert (result.output, result.record["warnings"]) == (
        {},
        ["The schema of the response is invalid; the response was not validated."],
    )


async def test_R_3_9_R_7_5_a_private_target_is_blocked_until_the_operator_confirms_it() -> None:
    async with playing(in_turn(json_answer("{}"))) as server:
        place = server.url.removeprefix("http://")
        confirmed: list[str] = []
        sends = OperationClient(UntrustedClient(), Secrets(), Redactor(), lambda plugin: confirmed)
        with pytest.raises(StepFailed, match="a loopback address") as failed:
            await sends.send(plugin(server.url), LIST, {}, {})
        assert (failed.value.code, failed.value.details, server.visits) == (
            "egress_blocked",
            {"sent": False, "blocked": place},
            [],
        )

        confirmed.append(place)
        assert (await sends.send(plugin(server.url), LIST, {}, {})).output == {}


@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
async def test_R_7_4_a_redirect_is_an_error(status: int) -> None:
    async with playing(in_turn(json_answer("", f"{status} Moved", "location: http://127.0.0.1:1/"))) as server:
        with pytest.raises(StepFailed, match="Redirects are not followed") as failed:
            await sender().send(plugin(server.url), LIST, {}, {})

    assert (failed.value.code, failed.value.upstream_status) == ("redirect", status)
    assert len(server.visits) == 1


async def test_R_7_6_a_response_has_a_size_limit_and_a_timeout() -> None:
    async def silent(visit: Visit) -> None:
        await visit.gone()

    async with playing(in_turn(json_answer('"' + "x" * 2000 + '"'))) as server:
        with pytest.raises(StepFailed) as large:
            await sender(largest=1000).send(plugin(server.url), LIST, {}, {})
    async with playing(silent) as server, asyncio.timeout(30):
        with pytest.raises(StepFailed) as slow:
            await sender().send(plugin(server.url), LIST, {}, {}, timeout=0.2)
    with pytest.raises(StepFailed) as gone:
        await sender().send(plugin(server.url), LIST, {}, {})

    assert [one.value.code for one in (large, slow, gone)] == ["response_too_large", "timeout", "connect"]
    assert [one.value.details for one in (large, slow, gone)] == [{"sent": True}, {"sent": True}, {"sent": False}]


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", None),
        (OK + b"content-length: 0\r\n\r\n", None),
        (json_answer('{"a": [1, null]}', "201 Created"), {"a": [1, None]}),
        (b"HTTP/1.1 200 OK\r\ncontent-type: application/problem+json\r\ncontent-length: 1\r\n\r\n1", 1),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=iso-8859-1\r\ncontent-length: 1\r\n\r\n\xe9", "é"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ncontent-length: 4\r\n\r\n<a/>", "<a/>"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nplain", "plain"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", {}),
    ],
)
async def test_R_7_7_json_and_text_responses_become_values(answer: bytes, output: Any) -> None:
    async with playing(in_turn(answer)) as server:
        result = await sender().send(plugin(server.url), LIST, {}, {})

    assert (result.output, result.artifacts) == (output, ())


async def test_R_7_7_a_binary_response_becomes_an_artifact() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 4\r\n"
    named = b'content-disposition: attachment; filename="../../up.png"\r\n'
    async with playing(in_turn(head + named + b"\r\n\x89PNG", head + b"\r\n\x89PNG")) as server:
        first = await sender().send(plugin(server.url), LIST, {}, {})
        second = await sender().send(plugin(server.url), LIST, {}, {})

    assert first.output == {"name": "up.png", "media_type": "image/png", "size": 4}
    assert base64.b64decode(first.artifacts[0].data) == b"\x89PNG"
    assert second.artifacts[0].name == "things.png"


async def test_R_7_7_an_error_status_is_reported_with_the_description_of_the_document() -> None:
    one = operation(statuses={"404": "主机编号不存在。", "5XX": "Try later."})
    long = json.dumps({"detail": "no such host: nope-99", "more": "x" * 3000})
    answers = json_answer(long, "404 No"), json_answer("<html>", "503 No", "retry-after: 7"), json_answer("", "418 Tea")
    failures = []
    async with playing(in_turn(*answers)) as server:
        for _ in answers:
            with pytest.raises(StepFailed) as failed:
                await sender().send(plugin(server.url), one, {}, {})
            failures.append(failed.value)

    assert [one.message for one in failures] == [
        "GET /things returned HTTP 404 (主机编号不存在。): no such host: nope-99",
        "GET /things returned HTTP 503 (Try later.).",
        "GET /things returned HTTP 418.",
    ]
    assert [(one.code, one.upstream_status) for one in failures] == [("http_status", n) for n in (404, 503, 418)]
    assert failures[0].details == {"sent": True, "body": long[:2000]}
    assert failures[1].details == {"sent": True, "body": "<html>", "retry_after": 7}


async def test_R_7_8_the_output_is_the_complete_response() -> None:
    whole = [{"n": number, "text": "x" * 100} for number in range(20_000)]
    async with playing(in_turn(json_answer(json.dumps(whole)))) as server:
        result = await sender().send(plugin(server.url), LIST, {}, {})

    assert result.output == whole


async def test_R_7_9_a_response_that_does_not_fit_its_schema_causes_a_warning() -> None:
    response = {"type": "object", "required": ["id"], "properties": {"n": {"type": "integer"}}}
    one = operation(response=response)
    async with playing(in_turn(json_answer('{"n": "x"}'), json_answer("no json"), json_answer('{"id": 1}'))) as server:
        first, second, third = [await sender().send(plugin(server.url), one, {}, {}) for _ in range(3)]

    assert first.output == {"n": "x"}
    assert first.record["warnings"] == [
        "The response does not match its schema: id: is missing",
        'The response does not match its schema: n: "x" is not of type "integer"',
    ]
    assert (second.output, second.record["warnings"]) == (
        "no json", ["The response is declared as JSON but is not valid JSON; it is treated as text."],
    )  # fmt: skip
    assert "warnings" not in third.record


async def test_R_4_8_a_file_inside_a_response_becomes_an_artifact() -> None:
    content = {"type": "string", "x-file-content": True}
    file = {"type": "object", "properties": {"name": {"type": "string"}, "content": content}}
    recursive = {"type": "object", "properties": {"files": {"type": "array", "items": {"$ref": "#/$defs/File"}}}}
    one = operation(response={**recursive, "$defs": {"File": file}})
    answer = {"files": [{"name": "a.md", "content": "| 名称 |"}, {"content": "without a name"}]}
    async with playing(in_turn(json_answer(json.dumps(answer)))) as server:
        result = await sender().send(plugin(server.url), one, {}, {})

    assert result.output == {"files": [{"name": "a.md", "content": "<a.md, 10 bytes>"}, {"content": "without a name"}]}
    (artifact,) = result.artifacts
    assert (artifact.name, base64.b64decode(artifact.data).decode(), artifact.size) == ("a.md", "| 名称 |", 10)


async def test_uploaded_files_are_sent_unchanged() -> None:
    data = bytes(range(256)) * 1000
    one = operation(method="POST", body=body("multipart", {"file": {}}, files=frozenset({"file"})))
    upload = Upload("1", "a.bin", "application/octet-stream", base64.b64encode(data).decode())
    async with playing(in_turn(json_answer("{}"))) as server:
        await sender().send(plugin(server.url), one, {"file": "a.bin"}, {"a.bin": upload})

    assert data in server.requests[0].body


async def test_requests_that_write_carry_an_idempotency_key() -> None:
    async with playing(in_turn(json_answer("{}"))) as server:
        for method in ("GET", "POST"):
            await sender().send(plugin(server.url), operation(method=method), {}, {}, idempotency_key="run-1.step")

    assert [request.header("idempotency-key") for request in server.requests] == [None, "run-1.step"]


def test_R_11_8_a_preview_shows_the_exact_request_and_no_secret() -> None:
    auth = [KEY, Auth("param", {"key": "literal-secret"}), Auth("oidc", {"token_url": "http://t.example/"})]
    one = operation(parameter("city"), method="POST", path="/scans", body=body("json", {"host": {}}))

    request = sender().preview(
        plugin("http://api.example.com/v1", auth=auth),
        one,
        {"city": "杭州", "host": "db-01"},
        {},
        idempotency_key="k-1",
    )

    assert (request.method, request.body) == ("POST", {"host": "db-01"})
    assert request.url == "http://api.example.com/v1/scans?city=%E6%9D%AD%E5%B7%9E&key=••••"
    assert request.headers == {
        "content-type": "application/json",
        "Idempotency-Key": "k-1",
        "X-Key": "Key ••••",
        "Authorization": "Bearer ••••",
    }


async def test_R_7_7_nan_and_lone_surrogates_in_a_response_are_replaced_with_a_warning() -> None:
    text = r"""{"half": "\ud800!", "pair": "\ud83d\ude00", "plain": "\\ud800", "n": [NaN, 1e999, -Infinity, 1.5]}"""
    async with playing(in_turn(json_answer(text))) as server:
        result = await sender().send(plugin(server.url), LIST, {}, {})

    assert result.output == {"half": "\ufffd!", "pair": "😀", "plain": "\\ud800", "n": [None, None, None, 1.5]}
    assert "which is not valid JSON" in str(result.record["warnings"])
    assert msgspec.json.decode(msgspec.json.encode(result), type=StepResult) == result


@pytest.mark.parametrize("name", ["punycode", "idna", "undefined", "unicode_escape", "utf-7", "no-such", "zip"])
async def test_an_unknown_charset_is_read_as_utf_8(name: str) -> None:
    content = b"a-" + b"b" * 300_000
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset={name}\r\ncontent-length: {len(content)}\r\n\r\n"
    async with playing(in_turn(head.encode() + content)) as server:
        result = await sender().send(plugin(server.url), LIST, {}, {}, timeout=20)

    assert result.output == content.decode()


@pytest.mark.parametrize(("sent", "content"), [("aGVs\nbG8=", b"hello"), ("no base64!", b"no base64!"), ("a", b"a")])
async def test_R_4_8_a_file_inside_a_response_is_read_even_if_it_is_invalid_base64(sent: str, content: bytes) -> None:
    text = {"type": "string"}
    file = {"type": "string", "x-file-content": True, "contentEncoding": "base64"}
    one = operation(response={"type": "object", "properties": {"name": text, "body": file}})
    async with playing(in_turn(json_answer(json.dumps({"name": "a.txt", "body": sent})))) as server:
        result = await sender().send(plugin(server.url), one, {}, {})

    (artifact,) = result.artifacts
    assert base64.b64decode(artifact.data, validate=True) == content
    assert (artifact.size, result.output) == (len(content), {"name": "a.txt", "body": f"<a.txt, {len(content)} bytes>"})


async def test_a_dry_run_says_which_secret_would_not_be_sent() -> None:
    unbound = OperationClient(UntrustedClient(), Secrets({"RIGHTSEAT_SECRET_KEY": "a-key-canary"}), Redactor())

    (problem,) = unbound.list_secret_problems(plugin("https://api.example.com", auth=[KEY]))

    assert "may not send the secret 'KEY' to api.example.com:443" in problem
    assert sender(KEY="a-key-canary").list_secret_problems(plugin("https://api.example.com", auth=[KEY])) == []
