"""Secrets in texts: covered in every form in which they travel."""

import base64
import html
import json
import logging
import re
from urllib.parse import quote, quote_plus

import pytest
from pydantic import BaseModel, SecretStr

from rightseat.core.types import JsonValue
from rightseat.egress.redaction import MAX_TEMPORARY_SECRETS, Redactor, find_option_secrets, redact_logs

CANARY = 'can+ary/"é<7& x'


def learned(*values: str) -> Redactor:
    redactor = Redactor()
    for value in values:
        redactor.add(value)
    return redactor


@pytest.mark.parametrize(
    "form",
    [
        CANARY, quote(CANARY), quote(CANARY, safe=""), quote_plus(CANARY),
        re.sub("%..", lambda m: m[0].lower(), quote(CANARY)),
        json.dumps(CANARY)[1:-1], json.dumps(CANARY, ensure_ascii=False)[1:-1], html.escape(CANARY),
    ],
)  # fmt: skip
def test_R_3_7_a_secret_is_redacted_in_each_of_its_encodings(form: str) -> None:
    assert learned(CANARY).redact_text(f"before {form} after") == "before •••• after"


@pytest.mark.parametrize("before", ["", "u", "us", "use", "user:"])
@pytest.mark.parametrize("after", ["", "!", "!!", "!!!"])
def test_R_3_7_a_secret_inside_base64_is_redacted_at_any_offset(before: str, after: str) -> None:
    value = "a-canary-of-some-length"
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        covered = learned(value).redact_text(encode(f"{before}{value}{after}".encode()).decode())

        assert "••••" in covered
        assert len(covered.replace("••••", "")) <= len(before + after) * 4 / 3 + 4


def test_R_3_7_secrets_inside_json_are_redacted_numbers_too() -> None:
    value: JsonValue = {"a-secret": [1, "x a-secret y", {"n": 12345678}], "b": None, "c": True, "d": 1.5}

    covered = learned("a-secret", "12345678").redact_value(value)

    assert covered == {"••••": [1, "x •••• y", {"n": "••••"}], "b": None, "c": True, "d": 1.5}


def test_R_3_7_secrets_in_bytes_are_redacted() -> None:
    assert learned("a-secret").redact_bytes(b"\x00a-secret\xff") == b"\x00" + "••••".encode() + b"\xff"


def test_the_longer_of_two_overlapping_secrets_is_redacted_whole() -> None:
    assert learned("secret", "secret-and-more").redact_text("secret-and-more") == "••••"


def test_a_value_too_short_for_redaction_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than 4"):
        Redactor().add("abc")


def test_the_redactor_forgets_expired_tokens_and_keeps_secrets() -> None:
    redactor = learned("lasting-secret")
    for number in range(MAX_TEMPORARY_SECRETS + 1):
        redactor.add(f"token-{number:05}", is_temporary=True)

    assert redactor.redact_text("lasting-secret token-00000 token-00001") == "•••• token-00000 ••••"


def test_R_3_7_log_lines_are_redacted(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("tests.redaction")
    with redact_logs(learned("a-secret")):
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


def test_secrets_in_nested_options_are_found() -> None:
    class Options(BaseModel):
        api_key: SecretStr = SecretStr("the-key")
        url: str = "postgresql://me:pass-word@host/db"
        headers: dict[str, SecretStr] = {
            "authorization": SecretStr("Bearer abc-123"),
            "x-version": SecretStr("2024-10"),
        }
        extra: dict[str, JsonValue] = {"user": "canary-5f2c9be1d0a74-x", "effort": "high", "model": "gpt-4o-2024-08-06"}
        inner: tuple[dict[str, str], ...] = ({"url": "redis://:pass-two@host"},)

    found = list(find_option_secrets(Options()))

    assert found == ["the-key", "pass-word", "Bearer abc-123", "canary-5f2c9be1d0a74-x", "pass-two"]


def test_a_bearer_token_is_redacted_with_and_without_its_scheme() -> None:
    assert (
        Redactor("[key]", ["Bearer abc-123", "short"]).redact_text("Bearer abc-123, abc-123, short")
        == "[key], [key], short"
    )
