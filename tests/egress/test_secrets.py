"""Where secrets come from, and for whom they are."""

import json
import stat
from pathlib import Path

import pytest

from rightseat.core.errors import ConfigError
from rightseat.egress.secrets import EVERY_SECRET, SecretGrant, SecretMissing, SecretNotBound, Secrets
from rightseat.operations.secret_uses import SecretUse

EVERYWHERE = [SecretGrant(EVERY_SECRET)]
CRM = SecretUse("crm", "KEY", "api.crm.example:443")


def written(folder: Path, content: object, mode: int = 0o600) -> Path:
    file = folder / "secrets.json"
    file.write_text(json.dumps(content))
    file.chmod(mode)
    return file


async def test_R_3_5_a_secret_is_found_in_the_environment_and_in_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, {"A": "from the file", "B": {"value": "also from it"}})
    secrets = Secrets({"RIGHTSEAT_SECRET_A": "from outside", "RIGHTSEAT_SECRET_C_D": "dotted"}, file, EVERYWHERE)

    assert await secrets.of_plugin("shop").resolve("A", host="api.example.com:443") == "from outside"
    assert await secrets.of_plugin("shop").resolve("B", host="api.example.com:443") == "also from it"
    assert await secrets.of_plugin("shop").resolve("c.d".upper(), host="api.example.com:443") == "dotted"
    assert [secrets.has(name) for name in ("A", "B", "C-D", "X")] == [True, True, True, False]


async def test_R_3_5_no_other_variable_of_the_environment_can_be_named() -> None:
    secrets = Secrets({"OPENAI_API_KEY": "sk-of-the-server"})

    with pytest.raises(SecretMissing, match="set RIGHTSEAT_SECRET_OPENAI_API_KEY"):
        await secrets.of_plugin("shop").resolve("OPENAI_API_KEY", host="evil.example:443")


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
        (None, "api.example.com:443", False),
    ],
)
async def test_R_3_5_a_secret_is_resolved_only_for_its_hosts(
    hosts: list[str] | None, host: str, may: bool, tmp_path: Path
) -> None:
    secrets = Secrets({"RIGHTSEAT_SECRET_KEY": "value"}, written(tmp_path, {"KEY": {"hosts": hosts}}))

    if may:
        assert await secrets.of_plugin("shop").resolve("KEY", host=host) == "value"
    else:
        with pytest.raises(SecretMissing, match=r"may not (be sent|send)"):
            await secrets.of_plugin("shop").resolve("KEY", host=host)


async def test_the_secrets_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "state" / "secrets.json"
    secrets = Secrets(file=file, grants=EVERYWHERE)

    secrets.store("A", "first")
    secrets.store("B", "second", ["api.example.com"])

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert await secrets.of_plugin("shop").resolve("A", host="any.example:1") == "first"
    assert await secrets.of_plugin("shop").resolve("B", host="api.example.com:443") == "second"
    assert [path.name for path in file.parent.iterdir()] == ["secrets.json"]


async def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="chmod 600"):
        await Secrets(file=written(tmp_path, {"A": "value"}, 0o640)).of_plugin("shop").resolve("A", host="x.example:1")


async def test_an_invalid_secrets_file_is_reported_without_its_content(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a valid secrets file") as refused:
        await Secrets(file=written(tmp_path, {"A": ["canary"]})).of_plugin("shop").resolve("A", host="x.example:1")

    assert "canary" not in str(refused.value)


async def test_a_secret_too_short_for_redaction_is_refused() -> None:
    with pytest.raises(SecretMissing, match="fewer than 4"):
        await Secrets({"RIGHTSEAT_SECRET_A": "abc"}).of_plugin("shop").resolve("A", host="x.example:1")


@pytest.mark.parametrize(("name", "host"), [("1A", "a.example"), ("A B", "a.example"), ("A", "http://a"), ("A", "a b")])
def test_an_invalid_name_or_host_of_a_secret_is_not_stored(name: str, host: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Secrets(file=tmp_path / "secrets.json").store(name, "value", [host])


def test_without_a_file_no_secret_can_be_stored() -> None:
    with pytest.raises(ConfigError, match="No secrets file"):
        Secrets().store("A", "value")


@pytest.mark.parametrize(
    ("grant", "plugin", "host", "may"),
    [
        (SecretGrant("KEY", ("crm",), ("api.crm.example",)), "crm", "api.crm.example:443", True),
        (SecretGrant("KEY", ("crm",), ("api.crm.example",)), "crm", "evil.example:443", False),
        (SecretGrant("KEY", ("crm",), ("api.crm.example",)), "shop", "api.crm.example:443", False),
        (SecretGrant("KEY", ("crm",)), "crm", "anywhere.example:443", True),
        (SecretGrant("KEY", ("crm",)), "shop", "anywhere.example:443", False),
        (SecretGrant("KEY", None, ("api.crm.example:443",)), "shop", "API.CRM.example:443", True),
        (SecretGrant("OTHER", ("crm",), ("api.crm.example",)), "crm", "api.crm.example:443", False),
    ],
)
async def test_a_secret_goes_where_a_grant_says_and_nowhere_else(
    grant: SecretGrant, plugin: str, host: str, may: bool
) -> None:
    secrets = Secrets({"RIGHTSEAT_SECRET_KEY": "value"}, grants=[grant])

    if may:
        assert await secrets.of_plugin(plugin).resolve("KEY", host=host) == "value"
    else:
        with pytest.raises(SecretNotBound):
            await secrets.of_plugin(plugin).resolve("KEY", host=host)


async def test_a_refusal_names_plugin_secret_host_and_the_line_to_add() -> None:
    secrets = Secrets({"RIGHTSEAT_SECRET_KEY": "value"})

    with pytest.raises(SecretNotBound) as refused:
        await secrets.of_plugin("crm").resolve("KEY", host="api.crm.example:443")

    assert str(refused.value) == (
        "The plugin 'crm' may not send the secret 'KEY' to api.crm.example:443: it is not bound to them. An operator "
        'can add to `secrets` of the toolbox: - {name: KEY, plugins: [crm], hosts: ["api.crm.example:443"]}'
    )


async def test_a_recorded_use_is_for_its_plugin_and_its_host() -> None:
    secrets = Secrets({"RIGHTSEAT_SECRET_KEY": "value"})
    secrets.record([CRM])

    assert await secrets.of_plugin("crm").resolve("KEY", host="api.crm.example:443") == "value"
    for plugin, host in (("shop", "api.crm.example:443"), ("crm", "evil.example:443"), ("crm", "api.crm.example:444")):
        with pytest.raises(SecretNotBound):
            await secrets.of_plugin(plugin).resolve("KEY", host=host)


async def test_the_issuer_of_a_recorded_use_may_name_its_token_server() -> None:
    secrets = Secrets({"RIGHTSEAT_SECRET_KEY": "value"})
    secrets.record([CRM])
    crm = secrets.of_plugin("crm")

    assert await crm.resolve("KEY", host="token.crm.example:443", named_by="api.crm.example:443") == "value"
    with pytest.raises(SecretNotBound):
        await crm.resolve("KEY", host="token.crm.example:443", named_by="evil.example:443")


async def test_hosts_of_the_file_restrict_grants_and_records(tmp_path: Path) -> None:
    file = written(tmp_path, {"KEY": {"value": "value", "hosts": ["api.crm.example"]}})
    secrets = Secrets(file=file, grants=[SecretGrant("KEY", ("crm",))])
    secrets.record([SecretUse("crm", "KEY", "evil.example:443")])

    assert await secrets.of_plugin("shop").resolve("KEY", host="api.crm.example:443") == "value"
    with pytest.raises(SecretMissing, match="only to api"):
        await secrets.of_plugin("crm").resolve("KEY", host="evil.example:443")


def test_only_an_object_that_knows_the_plugin_resolves_secrets() -> None:
    public = {name for name in dir(Secrets) if not name.startswith("_")}

    assert public == {"check", "has", "is_bound", "of_plugin", "record", "store"}
