"""Signatures, as AWS has published them; beside botocore's in tests/models/anthropic/test_bedrock_oracle.py."""

from datetime import UTC, datetime

import pytest

from rightseat.egress.credentials.sigv4 import AwsKeys, sign, write_path, write_query
from rightseat.egress.request import OutgoingRequest

KEYS = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
MOMENT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
HOST = "example.amazonaws.com"


def signature(asked: OutgoingRequest, keys: AwsKeys = KEYS, service: str = "service") -> str:
    return sign(asked, keys, "us-east-1", service, MOMENT)["authorization"].rpartition("Signature=")[2]


def get(target: str) -> OutgoingRequest:
    return OutgoingRequest("GET", HOST, target, {}, b"")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (get("/"), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (get("/?Param2=value2&Param1=value1"), "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        (get("/./example/.."), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (
            OutgoingRequest("POST", HOST, "/", {}, b""),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            OutgoingRequest("POST", HOST, "/", {"content-type": "application/x-www-form-urlencoded"}, b"Param1=value1"),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
    ids=["get-vanilla", "get-vanilla-query-order", "normalize-path", "post-vanilla", "post-x-www-form-urlencoded"],
)
def test_the_test_vectors_of_aws_have_the_expected_signatures(asked: OutgoingRequest, expected: str) -> None:
    assert signature(asked) == expected


def test_the_documented_example_has_the_expected_authorization_header() -> None:
    headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    asked = OutgoingRequest("GET", "iam.amazonaws.com", "/?Action=ListUsers&Version=2010-05-08", headers, b"")

    assert sign(asked, KEYS, "us-east-1", "iam", MOMENT) == {
        "authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date, "
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        "x-amz-date": "20150830T123600Z",
    }


def test_a_session_token_is_sent_and_signed() -> None:
    signed = sign(get("/"), AwsKeys(KEYS.id, KEYS.secret, "session"), "us-east-1", "service", MOMENT)

    assert signed["x-amz-security-token"] == "session"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in signed["authorization"]


@pytest.mark.parametrize(
    ("sent", "written"),
    [
        ("", "/"),
        ("/model/us.anthropic.claude-v1:0/invoke", "/model/us.anthropic.claude-v1%3A0/invoke"),
        ("/model/arn%3Aaws%2Fx/invoke", "/model/arn%253Aaws%252Fx/invoke"),
        ("//a/./b/../c/", "/a/c/"),
        ("/~a-b_c.d", "/~a-b_c.d"),
    ],
)
def test_the_canonical_path_is_escaped_twice(sent: str, written: str) -> None:
    assert write_path(sent) == written


def test_the_canonical_query_is_sorted_and_keeps_empty_values() -> None:
    assert write_query("b=2&a=2&a=1&c&d=x+y&e=%2f") == "a=1&a=2&b=2&c=&d=x%2By&e=%2F"


def test_the_repr_of_keys_hides_the_secret() -> None:
    assert "wJalr" not in repr(KEYS)
    assert "session" not in repr(AwsKeys("a", "b", "session"))
