"""Where the keys of AWS come from: the real botocore, and local servers that play what AWS has for its machines."""

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from click.testing import CliRunner

from rightseat import config
from rightseat.cli import main
from rightseat.core.errors import ConfigError, ModelRefusedKey, ModelUnreachable
from rightseat.egress.credentials.aws import AwsCredentials, AwsOptions
from rightseat.egress.request import OutgoingRequest
from rightseat.installation import install_command
from rightseat.models.anthropic import Anthropic
from tests.egress.credentials.granting import giving
from tests.models.anthropic.framing import framed
from tests.models.asking import PROMPT
from tests.models.recorded import once, refusal
from tests.tcp import Request, playing

ASKED = OutgoingRequest("POST", "h", "/", {}, b"{}")
ENVIRON = {"AWS_ACCESS_KEY_ID": "env-id", "AWS_SECRET_ACCESS_KEY": "env-secret", "AWS_SESSION_TOKEN": "env-token"}

CREDENTIALS = """
[default]
aws_access_key_id = default-id
aws_secret_access_key = default%secret

[work]
aws_access_key_id=work-id
aws_secret_access_key=work-secret
aws_session_token = work-token
"""

CONFIG = """
[profile role]
role_arn = arn:aws:iam::1:role/reader
source_profile = work

[profile code]
role_arn = arn:aws:iam::1:role/reader
source_profile = work
mfa_serial = arn:aws:iam::1:mfa/ann

[profile behind-a-code]
role_arn = arn:aws:iam::1:role/other
source_profile = code

[profile program]
credential_process = echo '{"Version": 1, "AccessKeyId": "p", "SecretAccessKey": "s"}'

[profile signed-in]
sso_start_url = https://ours.awsapps.com/start
sso_region = us-east-1
sso_account_id = 1
sso_role_name = reader
"""


@pytest.fixture
def home(tmp_path: Path, bare: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text(CREDENTIALS)
    (folder / "config").write_text(CONFIG)
    return folder


def aws(**options: Any) -> AwsCredentials:
    return AwsCredentials(AwsOptions(**options), "us-east-1", "bedrock")


async def keys(found: AwsCredentials) -> tuple[str, str | None]:
    """The id and the session token that a request is signed with."""
    async with asyncio.timeout(60):
        headers = await found.headers(ASKED)
    return headers["authorization"].partition("Credential=")[2].partition("/")[0], headers.get("x-amz-security-token")


def later(seconds: float = 3600) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def json_keys(id: str, lasts: float = 3600) -> bytes:
    made = {"AccessKeyId": id, "SecretAccessKey": f"{id}-secret", "Token": f"{id}-token", "Expiration": later(lasts)}
    return refusal("200 OK", json.dumps(made | {"Code": "Success", "Type": "AWS-HMAC"}))


@pytest.mark.parametrize(
    ("options", "environ", "expected"),
    [
        ({"access_key_id": "id", "secret_access_key": "secret"}, ENVIRON, ("id", None)),
        ({"access_key_id": "id", "secret_access_key": "s", "session_token": "token"}, {}, ("id", "token")),
        ({}, ENVIRON | {"AWS_PROFILE": "work"}, ("env-id", "env-token")),
        ({}, {}, ("default-id", None)),
        ({}, {"AWS_PROFILE": "work"}, ("work-id", "work-token")),
        ({"profile": "work"}, ENVIRON, ("work-id", "work-token")),
        ({"profile": "program"}, {}, ("p", None)),
    ],
    ids=["named", "named with a token", "environment", "default", "AWS_PROFILE", "profile", "program"],
)
async def test_the_first_source_with_keys_is_used(
    home: Path,
    bare: pytest.MonkeyPatch,
    options: dict[str, Any],
    environ: dict[str, str],
    expected: tuple[str, str | None],
) -> None:
    for name, value in environ.items():
        bare.setenv(name, value)

    assert await keys(aws(**options)) == expected


async def test_an_ecs_task_gets_keys_from_its_container_endpoint(bare: pytest.MonkeyPatch) -> None:
    async with playing(giving(lambda _: json_keys("task"))) as server:
        bare.setattr("botocore.utils.ContainerMetadataFetcher.IP_ADDRESS", server.url.removeprefix("http://"))
        bare.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1")
        found = aws()

        assert [await keys(found) for _ in range(3)] == [("task", "task-token")] * 3
    assert [request.line for request in server.requests] == ["GET /v2/credentials/1 HTTP/1.1"]
    assert set(found.secrets) == {"task-secret", "task-token"}


async def test_an_eks_pod_sends_the_current_token_of_its_file(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "eks-pod-identity-token"
    await asyncio.to_thread(file.write_text, "pod-1")
    async with playing(giving(lambda request: json_keys(f"of-{request.header('authorization')}", lasts=20))) as server:
        bare.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/v1/credentials")
        bare.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(file))
        found = aws()
        before = await keys(found)
        await asyncio.to_thread(file.write_text, "pod-2")

        assert (before[0], (await keys(found))[0]) == ("of-pod-1", "of-pod-2")


def sts(request: Request) -> bytes:
    """A role for the right token, or for the right keys, as STS gives it."""
    sent = dict(parse_qsl(request.body.decode()))
    assert sent["RoleArn"] == "arn:aws:iam::1:role/reader"
    kind = sent["Action"]
    if kind == "AssumeRoleWithWebIdentity":
        assert sent["WebIdentityToken"] == "token-of-the-service-account"
        assert request.header("authorization") is None
    else:
        assert "Credential=work-id/" in (request.header("authorization") or "")
    made = (
        "<AccessKeyId>role-id</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey>"
        f"<SessionToken>role-token</SessionToken><Expiration>{later()}</Expiration>"
    )
    body = (
        f'<{kind}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{kind}Result><Credentials>{made}'
        f"</Credentials></{kind}Result></{kind}Response>"
    )
    return refusal("200 OK", body, "text/xml")


def sts_error(status: str, code: str, message: str = "") -> bytes:
    body = (
        '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>'
        f"<Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
    )
    return refusal(status, body, "text/xml")


async def test_a_pod_with_a_web_identity_assumes_its_role(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "token"
    await asyncio.to_thread(file.write_text, "token-of-the-service-account")
    async with playing(giving(sts)) as server:
        bare.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/reader")
        bare.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(file))
        bare.setenv("AWS_ENDPOINT_URL_STS", server.url)

        assert await keys(aws()) == ("role-id", "role-token")


async def test_a_profile_assumes_its_role_with_the_keys_of_another(home: Path, bare: pytest.MonkeyPatch) -> None:
    async with playing(giving(sts)) as server:
        bare.setenv("AWS_ENDPOINT_URL_STS", server.url)

        assert await keys(aws(profile="role")) == ("role-id", "role-token")


def instance(request: Request) -> bytes:
    """The metadata service of EC2, version 2: it wants a token, which it gives to a PUT."""
    method, path, _ = request.line.split()
    if (method, path) == ("PUT", "/latest/api/token"):
        assert request.header("x-aws-ec2-metadata-token-ttl-seconds")
        return refusal("200 OK", "metadata-token", "text/plain")
    if request.header("x-aws-ec2-metadata-token") != "metadata-token":
        return refusal("401 Unauthorized", "")
    if path == "/latest/meta-data/iam/security-credentials/":
        return refusal("200 OK", "reader", "text/plain")
    assert path == "/latest/meta-data/iam/security-credentials/reader"
    return json_keys("instance")


async def test_an_ec2_instance_gets_keys_of_its_role(bare: pytest.MonkeyPatch) -> None:
    bare.delenv("AWS_EC2_METADATA_DISABLED")
    async with playing(giving(instance)) as server:
        bare.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url)

        assert await keys(aws()) == ("instance", "instance-token")


def sso(request: Request) -> bytes:
    if request.header("x-amz-sso_bearer_token") != "signed-in-token":
        body = '{"message": "Session token not found or invalid"}'
        head = b"\r\nx-amzn-errortype: UnauthorizedException\r\n"
        return refusal("401 Unauthorized", body).replace(b"\r\n", head, 1)
    end = int((datetime.now(UTC) + timedelta(hours=1)).timestamp() * 1000)
    made = {"accessKeyId": "sso-id", "secretAccessKey": "s", "sessionToken": "sso-token", "expiration": end}
    return refusal("200 OK", json.dumps({"roleCredentials": made}))


def sign_in(home: Path, token: str) -> None:
    """What `aws sso login` leaves: a file whose name is the SHA-1 of the start URL."""
    cache = home / "sso" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    kept = {"accessToken": token, "expiresAt": later(), "startUrl": "https://ours.awsapps.com/start"}
    name = hashlib.sha1(kept["startUrl"].encode(), usedforsecurity=False).hexdigest()
    (cache / f"{name}.json").write_text(json.dumps(kept))


async def test_an_sso_session_gets_role_keys_until_it_expires(home: Path, bare: pytest.MonkeyPatch) -> None:
    async with playing(giving(sso)) as server:
        bare.setenv("AWS_ENDPOINT_URL_SSO", server.url)
        bare.setattr("botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR", str(home / "sso" / "cache"))
        await asyncio.to_thread(sign_in, home, "signed-in-token")
        assert await keys(aws(profile="signed-in")) == ("sso-id", "sso-token")

        await asyncio.to_thread(sign_in, home, "withdrawn")
        with pytest.raises(ModelRefusedKey, match="Run `aws sso login`"):
            await keys(aws(profile="signed-in"))


async def test_refused_keys_are_looked_up_again_but_not_twice_in_a_row(home: Path, bare: pytest.MonkeyPatch) -> None:
    found = aws(profile="work")
    refused = await found.headers(ASKED)
    file = home / "credentials"
    await asyncio.to_thread(file.write_text, CREDENTIALS.replace("work-", "new-"))

    assert found.discard_refused(refused)
    assert await keys(found) == ("new-id", "new-token")
    assert set(found.secrets) == {"work-secret", "work-token", "new-secret", "new-token"}
    assert not found.discard_refused(await found.headers(ASKED))
    assert not aws(access_key_id="a", secret_access_key="b").discard_refused(refused)


async def test_a_bedrock_request_is_signed_with_the_keys_of_the_task(bare: pytest.MonkeyPatch) -> None:
    async with playing(once(framed("text"))) as served, playing(giving(lambda _: json_keys("task"))) as server:
        bare.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/v2/credentials/1")
        options: dict[str, Any] = {"platform": "bedrock-runtime", "region": "us-east-1", "aws": {}}
        async with asyncio.timeout(60), Anthropic("claude", base_url=served.url, **options) as model:
            chunks = [chunk async for chunk in model.stream(PROMPT)]

    assert chunks
    assert "Credential=task/" in (served.requests[0].header("authorization") or "")


def denied(_: Request) -> bytes:
    return sts_error("403 Forbidden", "AccessDenied", "User: arn:aws:iam::1:user/canary is not authorized")


def broken(_: Request) -> bytes:
    return sts_error("500 Internal Server Error", "InternalFailure")


def nothing(_: Request) -> bytes:
    return refusal("404 Not Found", "")


@pytest.mark.parametrize(
    ("profile", "environ", "respond", "kind", "said"),
    [
        ("other", {}, nothing, ModelRefusedKey, "profile is in neither .* Check `profile` of `aws`"),
        (None, {"AWS_ACCESS_KEY_ID": "x"}, nothing, ModelRefusedKey, "key is missing. Set both AWS_ACCESS_KEY_ID"),
        ("code", {}, nothing, ModelRefusedKey, "mfa_serial"),
        ("behind-a-code", {}, nothing, ModelRefusedKey, "mfa_serial"),
        ("signed-in", {}, nothing, ModelRefusedKey, "Run `aws sso login` with the profile"),
        (
            "role",
            {},
            denied,
            ModelRefusedKey,
            r"\(AccessDenied\)\. AWS refused .* for the role\. Check its trust",
        ),
        ("role", {}, broken, ModelUnreachable, "the service that issues them failed"),
        (
            None,
            {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/x"},
            nothing,
            ModelUnreachable,
            "the service that issues them failed",
        ),
        (
            None,
            {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://evil.example/x"},
            nothing,
            ModelRefusedKey,
            "Check `aws`",
        ),
    ],
    ids=["profile", "half", "mfa", "mfa behind", "sso", "denied", "broken", "container", "foreign container"],
)
async def test_a_failed_lookup_is_reported_with_a_cure_and_without_the_text_of_aws(
    home: Path,
    bare: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    profile: str | None,
    environ: dict[str, str],
    respond: Callable[[Request], bytes],
    kind: type[ModelRefusedKey | ModelUnreachable],
    said: str,
) -> None:
    async with playing(giving(respond)) as server:
        for name, value in (environ | {"AWS_ENDPOINT_URL_STS": server.url}).items():
            bare.setenv(name, value.format(url=server.url))
        if environ:  # profiles come before containers
            await asyncio.to_thread((home / "credentials").unlink)

        with pytest.raises(kind, match=said) as wrong:
            await keys(aws(profile=profile))

    assert "canary" not in wrong.value.message
    assert "No AWS credentials (profile" in caplog.text
    assert ("canary" in caplog.text) == (respond is denied)


async def test_without_keys_the_error_names_the_sources(bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelRefusedKey, match="none in the environment, in a profile, or from the role"):
        await keys(aws())


async def test_an_unparsable_credentials_file_is_refused_without_quoting_it(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread((home / "credentials").write_text, "aws_secret_access_key = canary\n")

    with pytest.raises(ModelRefusedKey, match=r"A file in ~/\.aws cannot be parsed") as wrong:
        await keys(aws())
    assert "canary" not in wrong.value.message + caplog.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{access_key_id: a}", "`access_key_id` needs `secret_access_key`"),
        ("{secret_access_key: a}", "`secret_access_key` needs `access_key_id`"),
        ("{session_token: a}", "`session_token` needs"),
        ("{access_key_id: a, secret_access_key: b, profile: c}", "or `profile`, not both"),
    ],
)
def test_conflicting_aws_options_are_refused_by_the_configuration(options: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config.parse(
            f"models: {{default: {{type: anthropic, model: m, platform: bedrock, region: r, aws: {options}}}}}"
        )


def test_check_names_the_missing_aws_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    file = tmp_path / "rightseat.yaml"
    model = "{type: anthropic, model: m, platform: bedrock, region: r, aws: {}}"
    file.write_text(f"models: {{default: {model}}}\n")

    checked = CliRunner().invoke(main, ["check", "--config", str(file)])

    assert checked.exit_code == 1
    assert install_command("bedrock") in checked.output
    aws(access_key_id="a", secret_access_key="b")  # which needs no botocore
