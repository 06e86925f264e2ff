"""Where the keys of AWS come from."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rightseat import config
from rightseat.core.errors import ConfigError, ModelRefusedKey
from rightseat.egress.credentials.aws import Aws, AwsOptions, find
from rightseat.egress.credentials.sigv4 import Keys
from rightseat.egress.http import Asked

ENVIRON = {"AWS_ACCESS_KEY_ID": "env-id", "AWS_SECRET_ACCESS_KEY": "env-secret", "AWS_SESSION_TOKEN": "env-token"}
ASKED = Asked("POST", "h", "/", {}, b"{}")

PROFILES = """
[default]
aws_access_key_id = default-id
aws_secret_access_key = default%secret

[work]
aws_access_key_id=work-id
aws_secret_access_key=work-secret
aws_session_token = work-token

[role]
role_arn = arn:aws:iam::1:role/x
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "credentials"
    path.write_text(PROFILES)
    return path


@pytest.mark.parametrize(
    ("options", "environ", "expected"),
    [
        ({"access_key_id": "id", "secret_access_key": "secret"}, ENVIRON, Keys("id", "secret")),
        (
            {"access_key_id": "id", "secret_access_key": "secret", "session_token": "token"},
            {},
            Keys("id", "secret", "token"),
        ),
        ({}, ENVIRON | {"AWS_PROFILE": "work"}, Keys("env-id", "env-secret", "env-token")),
        ({}, {}, Keys("default-id", "default%secret")),
        ({}, {"AWS_PROFILE": "work"}, Keys("work-id", "work-secret", "work-token")),
        ({"profile": "work"}, ENVIRON, Keys("work-id", "work-secret", "work-token")),
    ],
    ids=["named", "named with a token", "environment", "default", "AWS_PROFILE", "profile"],
)
def test_the_first_place_that_has_keys_wins(
    file: Path, options: dict[str, Any], environ: dict[str, str], expected: Keys
) -> None:
    assert find(AwsOptions(**options), environ | {"AWS_SHARED_CREDENTIALS_FILE": str(file)}) == expected


@pytest.mark.parametrize(
    ("options", "environ", "said"),
    [
        ({"profile": "other"}, {}, r"has no profile 'other'. It has: default, work, role\."),
        ({"profile": "role"}, {}, "export-credentials --profile role"),
        ({}, {"AWS_ACCESS_KEY_ID": "x"}, "AWS_SECRET_ACCESS_KEY is not set"),
        ({}, {"AWS_SECRET_ACCESS_KEY": "x"}, "AWS_ACCESS_KEY_ID is not set"),
        ({}, {"AWS_SHARED_CREDENTIALS_FILE": "/nowhere"}, "There are no AWS keys: .* there is no file /nowhere"),
    ],
)
def test_what_is_missing_is_said_when_the_model_is_built(
    file: Path, options: dict[str, Any], environ: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        Aws(AwsOptions(**options), "us-east-1", "bedrock", {"AWS_SHARED_CREDENTIALS_FILE": str(file)} | environ)


def test_a_file_that_is_none_is_refused_without_being_quoted(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("aws_secret_access_key = canary\n")

    with pytest.raises(ConfigError, match="cannot be read as a file of AWS profiles") as wrong:
        find(AwsOptions(), {"AWS_SHARED_CREDENTIALS_FILE": str(file)})
    assert "canary" not in wrong.value.message


@pytest.mark.parametrize(
    ("aws", "said"),
    [
        ("{access_key_id: a}", "`access_key_id` needs `secret_access_key`"),
        ("{secret_access_key: a}", "`secret_access_key` needs `access_key_id`"),
        ("{session_token: a}", "`session_token` needs"),
        ("{access_key_id: a, secret_access_key: b, profile: c}", "one of them is meant"),
    ],
)
def test_keys_that_do_not_go_together_are_refused_by_the_configuration(aws: str, said: str) -> None:
    text = f"models: {{default: {{type: anthropic, model: m, platform: bedrock, region: r, aws: {aws}}}}}"

    with pytest.raises(ConfigError, match=said):
        config.parse(text)


async def test_keys_that_are_replaced_in_the_file_are_used_from_then_on(file: Path) -> None:
    aws = Aws(AwsOptions(profile="work"), "us-east-1", "bedrock", {"AWS_SHARED_CREDENTIALS_FILE": str(file)})
    before = await aws.headers(ASKED)

    await asyncio.to_thread(file.write_text, PROFILES.replace("work-token", "new-token"))
    after = await aws.headers(ASKED)

    assert (before["x-amz-security-token"], after["x-amz-security-token"]) == ("work-token", "new-token")
    assert set(aws.secrets) == {"work-secret", "new-token"}


async def test_keys_that_are_gone_are_said_to_be(file: Path) -> None:
    aws = Aws(AwsOptions(profile="work"), "us-east-1", "bedrock", {"AWS_SHARED_CREDENTIALS_FILE": str(file)})
    await asyncio.to_thread(file.unlink)

    with pytest.raises(ModelRefusedKey, match="no keys any more"):
        await aws.headers(ASKED)
