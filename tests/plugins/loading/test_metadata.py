"""plugin.json and its `auth`."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.definition import Auth, Plugin, PluginDatabase
from rightseat.plugins.loading import LoadResult, OperatorSettings
from rightseat.plugins.loading.metadata import resolve_database_paths
from tests.plugins.loading.sample import METADATA, OPENAPI, SAMPLE, codes, load, one


def with_fields(**fields: Any) -> LoadResult:
    about = {**json.loads(METADATA), **fields}
    return load({**SAMPLE, "plugin.json": json.dumps(about, ensure_ascii=False)})


def plugin(**fields: Any) -> Plugin:
    found = with_fields(**fields)
    assert found.plugin is not None, found.diagnostics
    return found.plugin


def test_R_2_tabs_are_white_space() -> None:
    assert load({**SAMPLE, "plugin.json": METADATA.replace("  ", "\t")}).diagnostics == ()


@pytest.mark.parametrize("id", ["sample", "a", "a-b_c1", "s" * 63])
def test_R_2_an_id_has_lower_case_letters_digits_and_separators(id: str) -> None:
    found = load({**SAMPLE, "plugin.json": METADATA.replace('"sample"', f'"{id}"')}, id=id)

    assert codes(found) == []


@pytest.mark.parametrize("id", ["", "1a", "a.b", "a/b", "a b", "s" * 64, "主机"])
def test_R_2_other_ids_are_refused(id: str) -> None:
    assert "E107" in codes(with_fields(id=id))


def test_R_2_upper_case_in_an_id_is_the_same_id() -> None:
    found = load({**SAMPLE, "plugin.json": METADATA.replace('"sample"', '"Sample"')})

    assert codes(found) == ["W104"]


def test_R_2_characters_of_a_name_are_counted_after_composing() -> None:
    assert codes(with_fields(name="e\u0301" * 14)) == []
    assert codes(with_fields(name="e\u0301" * 15)) == ["W105"]
    assert codes(with_fields(name="x" * 65)) == ["E107", "W105"]


def test_R_2_starters_are_one_question_or_several() -> None:
    assert plugin(predefined_question="What?").texts.starters == ("What?",)
    assert plugin(predefined_question=["What?", "Who?"]).texts.starters == ("What?", "Who?")
    assert "E107" in codes(with_fields(predefined_question=3))


def test_R_2_missing_translations_fall_back_to_the_main_language() -> None:
    german = plugin(i18n={"de": {"name": "Probe"}}).i18n["de"]

    assert (german.name, german.description) == ("Probe", json.loads(METADATA)["description"])


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", 1])
def test_R_2_a_version_has_three_numbers(version: object) -> None:
    assert "E107" in codes(with_fields(version=version))


@pytest.mark.parametrize("type", ["header", "param", "cookie"])
def test_R_3_1_a_kind_of_auth_and_its_pairs_are_kept(type: str) -> None:
    found = plugin(auth={"type": type, "args": {"key": "${secret:K}"}})

    assert found.auth == (Auth(type, {"key": "${secret:K}"}),)  # type: ignore[arg-type]  # one of the four


def test_R_3_2_oidc_needs_a_token_url_or_an_issuer() -> None:
    auth = {"type": "oidc", "args": {"issuer": "https://id.example", "client_id": "a", "client_secret": "${secret:S}"}}
    assert codes(with_fields(auth=auth)) == []

    auth["args"] = {"client_id": "a", "client_secret": "${secret:S}"}
    assert "E110" in codes(with_fields(auth=auth))


def test_R_3_2_the_original_fields_are_mapped() -> None:
    found = with_fields(
        auth={"type": "oidc", "access_token_url": "https://id.example/t", "domain": "d", "token_expire_time": 60}
    )

    assert codes(found) == ["W111"]
    assert found.plugin is not None
    assert found.plugin.auth[0].args == {
        "token_url": "https://id.example/t",
        "grant": "token_exchange",
        "header": "access-token",
        "scheme": "",
    }


def test_R_3_4_all_entries_of_an_auth_list_apply() -> None:
    both = [{"type": "header", "args": {"a": "${secret:A}"}}, {"type": "query", "args": {"b": "${secret:B}"}}]

    assert [one.type for one in plugin(auth=both).auth] == ["header", "param"]


def test_R_3_5_a_secret_in_plugin_json_is_reported_without_its_value() -> None:
    found = with_fields(auth={"type": "header", "args": {"Authorization": "sk-canary-1"}})

    assert codes(found) == ["W112"]
    assert "canary" not in str(one(found, "W112"))


@pytest.mark.parametrize("value", ["${secret:bad name}", "${HOME}", "${secret:}"])
def test_R_3_5_a_malformed_secret_reference_is_refused(value: str) -> None:
    assert "E110" in codes(with_fields(auth={"type": "header", "args": {"a": value}}))


def test_R_3_6_a_missing_secret_does_not_stop_loading() -> None:
    found = load(operator=OperatorSettings(secrets={"OTHER"}))

    assert codes(found) == ["W113"]
    assert found.plugin is not None
    assert load(operator=OperatorSettings(secrets={"SAMPLE"})).diagnostics == ()


def test_R_3_8_a_parameter_that_auth_sets_is_removed() -> None:
    auth = {"type": "param", "args": {"id": "${secret:K}", "size": "${secret:K}"}}
    document = SAMPLE["openapi.yaml"].replace(
        "        - name: id\n", "        - {name: size, in: query}\n        - name: id\n"
    )
    found = load(
        {**SAMPLE, "plugin.json": json.dumps({**json.loads(METADATA), "auth": auth}), "openapi.yaml": document}
    )

    assert codes(found) == ["W114"]
    assert found.plugin is not None
    operation = found.plugin.operations["GET /things/{id}"]
    assert [(one.place, one.name) for one in operation.parameters] == [("path", "id")]


@pytest.mark.parametrize("host", ["10.0.0.5:8080", "[::1]:80", "intranet:443"])
def test_R_3_9_private_targets_are_hosts_with_ports(host: str) -> None:
    assert plugin(network={"allow_private": [host]}).allow_private == (host,)


def test_R_3_9_a_private_server_is_reported_with_both_places_until_it_is_declared() -> None:
    private = {**SAMPLE, "openapi.yaml": OPENAPI.replace("https://api.example.com/v1", "http://127.1:8080/v1")}
    about = json.dumps({**json.loads(METADATA), "network": {"allow_private": ["127.0.0.1:8080"]}})

    found = load(private)
    declared = load({**private, "plugin.json": about})

    (warning,) = (one for one in found.diagnostics if one.code == "W115")
    assert (warning.file, warning.severity) == ("openapi.yaml", "warning")
    assert '"network": {"allow_private": ["127.0.0.1:8080"]}' in warning.hint
    assert '`allow_private: {sample: ["127.0.0.1:8080"]}`' in warning.hint
    assert "W115" not in codes(declared)


@pytest.mark.parametrize("host", ["10.0.0.5", "http://10.0.0.5:80", "a:99999", "u@h:1", "10.0.0.0/8:80"])
def test_R_3_9_a_private_target_that_is_no_host_with_a_port_is_refused(host: str) -> None:
    assert "E107" in codes(with_fields(network={"allow_private": [host]}))


def test_auth_cannot_set_headers_of_the_request_framing() -> None:
    for name in ("Host", "Transfer-Encoding", "Proxy-Authorization", "a b"):
        assert "E402" in codes(with_fields(auth={"type": "header", "args": {name: "${secret:A}"}}))


def test_database_files_must_be_in_the_folder() -> None:
    about = json.dumps({**json.loads(METADATA), "databases": {"s": {"bundled": "data/s.sql"}}})
    found = load({**SAMPLE, "plugin.json": about, "data/s.sql": "CREATE TABLE t (a);"}).plugin

    assert found is not None
    assert str(found.databases["s"].bundled) == "/plugins/sample/data/s.sql"
    assert "E111" in codes(with_fields(databases={"s": {"catalog": "../../etc/passwd"}}))


def test_database_files_are_found_after_a_change_of_the_working_directory() -> None:
    found = resolve_database_paths(
        {"s": PluginDatabase("s", catalog=Path("c.yaml"), bundled=Path("s.sql"))}, Path("plugins/sample")
    )

    assert found["s"].bundled == Path.cwd() / "plugins/sample/s.sql"
    assert found["s"].catalog == Path.cwd() / "plugins/sample/c.yaml"
