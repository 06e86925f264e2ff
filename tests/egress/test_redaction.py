"""Secrets in texts: covered in every form in which they travel."""

import base64
import html
import json
import logging
import re
from urllib.parse import quote, quote_plus

import pytest
from pydantic import BaseModel, SecretStr

from rightseat.core.values import JsonValue
from rightseat.egress.redaction import PASSING, Redactor, covering_logs, secrets_of

CANARY = 'can+ary/"é<7& x'


def learned(*values: str) -> Redactor:
    redactor = Redactor()
    for value in values:
        redactor.learn(value)
    return redactor


@pytest.mark.parametrize(
    "form",
    [
        CANARY, quote(CANARY), quote(CANARY, safe=""), quote_plus(CANARY),
        re.sub("%..", lambda m: m[0].lower(), quote(CANARY)),
        json.dumps(CANARY)[1:-1], json.dumps(CANARY, ensure_ascii=False)[1:-1], html.escape(CANARY),
    ],
)  # fmt: skip
def test_R_3_7_a_value_is_covered_in_each_of_its_forms(form: str) -> None:
    assert learned(CANARY).text(f"before {form} after") == "before •••• after"


@pytest.mark.parametrize("before", ["", "u", "us", "use", "user:"])
@pytest.mark.parametrize("after", ["", "!", "!!", "!!!"])
def test_R_3_7_base64_is_covered_wherever_in_it_the_value_begins(before: str, after: str) -> None:
    value = "a-canary-of-some-length"
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        covered = learned(value).text(encode(f"{before}{value}{after}".encode()).decode())

        assert "••••" in covered
        assert len(covered.replace("••••", "")) <= len(before + after) * 4 / 3 + 4


def test_R_3_7_values_inside_of_json_are_covered_numbers_too() -> None:
    value: JsonValue = {"a-secret": [1, "x a-secret y", {"n": 12345678}], "b": None, "c": True, "d": 1.5}

    covered = learned("a-secret", "12345678").value(value)

    assert covered == {"••••": [1, "x •••• y", {"n": "••••"}], "b": None, "c": True, "d": 1.5}


def test_R_3_7_bytes_are_covered() -> None:
    assert learned("a-secret").content(b"\x00a-secret\xff") == b"\x00" + "••••".encode() + b"\xff"


def test_the_longer_of_two_secrets_is_covered_as_a_whole() -> None:
    assert learned("secret", "secret-and-more").text("secret-and-more") == "••••"


def test_a_value_too_short_to_be_told_apart_is_not_learned() -> None:
    with pytest.raises(ValueError, match="fewer than 4"):
        Redactor().learn("abc")


def test_tokens_that_have_long_ended_are_forgotten_and_secrets_are_not() -> None:
    redactor = learned("lasting-secret")
    for number in range(PASSING + 1):
        redactor.learn(f"token-{number:05}", passing=True)

    assert redactor.text("lasting-secret token-00000 token-00001") == "•••• token-00000 ••••"


def test_R_3_7_what_is_logged_is_covered(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("tests.redaction")
    with covering_logs(learned("a-secret")):
        logger.warning("key %s for %s", "a-secret", "x")
        try:
            raise ValueError("broken a-secret")
        except ValueError:
            logger.exception("failed")
        logger.warning("%d is plain", 5)

    assert "a-secret" not in caplog.text
    assert "key •••• for x" in caplog.text
    assert "ValueError: broken ••••" in caplog.text
    assert "5 is plain" in caplog.text


def test_secrets_of_options_are_found_wherever_they_stand() -> None:
    class Options(BaseModel):
        api_key: SecretStr = SecretStr("the-key")
        url: str = "postgresql://me:pass-word@host/db"
        headers: dict[str, SecretStr] = {
            "authorization": SecretStr("Bearer abc-123"),
            "x-version": SecretStr("2024-10"),
        }
        extra: dict[str, JsonValue] = {"user": "canary-5f2c9be1d0a74-x", "effort": "high", "model": "gpt-4o-2024-08-06"}
        inner: tuple[dict[str, str], ...] = ({"url": "redis://:pass-two@host"},)

    found = list(secrets_of(Options()))

    assert found == ["the-key", "pass-word", "Bearer abc-123", "canary-5f2c9be1d0a74-x", "pass-two"]


def test_a_token_is_covered_with_and_without_the_word_before_it() -> None:
    assert (
        Redactor("[key]", ["Bearer abc-123", "short"]).text("Bearer abc-123, abc-123, short") == "[key], [key], short"
    )
