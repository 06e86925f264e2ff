"""Where secrets come from, and for whom they are."""

import json
import stat
from pathlib import Path

import pytest

from rightseat.core.errors import ConfigError
from rightseat.egress.secrets import SecretMissing, Secrets


def written(folder: Path, content: object, mode: int = 0o600) -> Path:
    file = folder / "secrets.json"
    file.write_text(json.dumps(content))
    file.chmod(mode)
    return file


async def test_R_3_5_a_secret_is_found_in_the_environment_and_in_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, {"A": "from the file", "B": {"value": "also from it"}})
    secrets = Secrets({"RIGHTSEAT_SECRET_A": "from outside", "RIGHTSEAT_SECRET_C_D": "dotted"}, file)

    assert await secrets.resolve("A", host="api.example.com:443") == "from outside"
    assert await secrets.resolve("B", host="api.example.com:443") == "also from it"
    assert await secrets.resolve("c.d".upper(), host="api.example.com:443") == "dotted"
    assert [secrets.has(name) for name in ("A", "B", "C-D", "X")] == [True, True, True, False]


async def test_R_3_5_no_other_variable_of_the_environment_can_be_named() -> None:
    secrets = Secrets({"OPENAI_API_KEY": "sk-of-the-server"})

    with pytest.raises(SecretMissing, match="set RIGHTSEAT_SECRET_OPENAI_API_KEY"):
        await secrets.resolve("OPENAI_API_KEY", host="evil.example:443")


@pytest.mark.parametrize(
    ("hosts", "host", "may"),
    [
        (["api.example.com"], "api.example.com:443", True),
        (["api.example.com"], "API.example.com:8443", True),
        (["api.example.com"], "evil.example:443", False),
        (["api.example.com"], "api.example.com.evil.example:443", False),
        ([".example.com"], "a.example.com:443", True),
        ([".example.com"], "notexample.com:443", False),
        (["127.0.0.1:8080"], "127.0.0.1:8080", True),
        (["127.0.0.1:8080"], "127.0.0.1:8081", False),
        (["[::1]:8080"], "[::1]:8080", True),
        ([], "api.example.com:443", False),
        (None, "api.example.com:443", True),
    ],
)
async def test_R_3_5_a_secret_is_resolved_only_for_its_hosts(
    hosts: list[str] | None, host: str, may: bool, tmp_path: Path
) -> None:
    secrets = Secrets({"RIGHTSEAT_SECRET_KEY": "value"}, written(tmp_path, {"KEY": {"hosts": hosts}}))

    if may:
        assert await secrets.resolve("KEY", host=host) == "value"
    else:
        with pytest.raises(SecretMissing, match="may not be sent to"):
            await secrets.resolve("KEY", host=host)


async def test_the_secrets_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "state" / "secrets.json"
    secrets = Secrets(file=file)

    secrets.store("A", "first")
    secrets.store("B", "second", ["api.example.com"])

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert await secrets.resolve("A", host="any.example:1") == "first"
    assert await secrets.resolve("B", host="api.example.com:443") == "second"
    assert [path.name for path in file.parent.iterdir()] == ["secrets.json"]


async def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="chmod 600"):
        await Secrets(file=written(tmp_path, {"A": "value"}, 0o640)).resolve("A", host="x.example:1")


async def test_an_invalid_secrets_file_is_reported_without_its_content(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a valid secrets file") as refused:
        await Secrets(file=written(tmp_path, {"A": ["canary"]})).resolve("A", host="x.example:1")

    assert "canary" not in str(refused.value)


async def test_a_secret_too_short_for_redaction_is_refused() -> None:
    with pytest.raises(SecretMissing, match="fewer than 4"):
        await Secrets({"RIGHTSEAT_SECRET_A": "abc"}).resolve("A", host="x.example:1")


@pytest.mark.parametrize(("name", "host"), [("1A", "a.example"), ("A B", "a.example"), ("A", "http://a"), ("A", "a b")])
def test_an_invalid_name_or_host_of_a_secret_is_not_stored(name: str, host: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Secrets(file=tmp_path / "secrets.json").store(name, "value", [host])


def test_without_a_file_no_secret_can_be_stored() -> None:
    with pytest.raises(ConfigError, match="No secrets file"):
        Secrets().store("A", "value")
