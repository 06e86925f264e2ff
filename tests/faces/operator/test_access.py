"""Keys, tokens and origins, as the console lists them."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rightseat.access.keys import digest, generate, prefix_of
from rightseat.core.audit import AUDIT_LOGGER
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, serving
from tests.faces.operator.test_rights import KEYS, User


async def test_keys_are_listed_by_name_and_prefix_without_the_key_or_its_hash(serve: Serve) -> None:
    key = generate()
    made = f"    - {{name: made, prefix: {prefix_of(key)}, hash: {digest(key)}}}\n"
    async with serving(serve, CONFIGURATION + KEYS + made) as server:
        answer = await User(server, "wu").get("access")

    keys = {one["name"]: one for one in answer.json()["keys"]}
    in_file = {"state": "active", "expires_at": None, "last_used_at": None, "in": "file"}
    used_at = keys["wu"]["last_used_at"]
    assert abs((datetime.now(UTC) - datetime.fromisoformat(used_at)).total_seconds()) < 60
    keys["wu"]["last_used_at"] = None
    assert keys["wu"] == {"name": "wu", "prefix": None, "user": "wu", "scopes": ["operator.watch:*"], **in_file}
    assert keys["made"] == {"name": "made", "prefix": prefix_of(key), "user": "key:made", "scopes": ["*"], **in_file}
    assert "key-wu" not in answer.text
    assert digest(key) not in answer.text


async def test_a_server_without_keys_says_that_only_this_machine_reaches_it(serve: Serve) -> None:
    async with serving(serve) as server:
        answer = (await server.client.get("/operator/access")).json()

    assert [answer["keys"], answer["jwt"], answer["is_local"]] == [[], None, True]


async def test_the_list_needs_the_right_to_watch_all_agents(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        statuses = {name: (await User(server, name).get("access")).status_code for name in ("alice", "slow", "wu")}

    assert statuses == {"alice": 403, "slow": 403, "wu": 200}


# Changing the keys of the store


def with_store(folder: Path, *, edit: bool = True) -> str:
    text = CONFIGURATION.replace("threads: {type: memory}", f"threads: {{path: {folder}/rightseat.db}}")
    return text.replace("keep_alive: 0.2}", f"keep_alive: 0.2, edit: {str(edit).lower()}}}") + KEYS


async def test_a_key_is_created_rotated_revoked_and_restored_and_counts_at_once(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, AUDIT_LOGGER)
    async with serving(serve, with_store(tmp_path)) as server:
        root = User(server, "root")

        async def status(key: str) -> int:
            return (await server.client.get("/operator/me", headers={"x-api-key": key})).status_code

        async def line() -> dict[str, Any]:
            keys = (await root.get("access")).json()["keys"]
            return next(one for one in keys if one["name"] == "a/b")

        new = {"name": "a/b", "user": "carol", "scopes": ["operator:default"], "expires_days": 90}
        made = await root.change("POST", "access/keys", new)
        created = await line()
        first = made.json()["key"]
        statuses = [await status(first)]
        rotated = (await root.change("POST", "access/keys/a/b/rotate", {"overlap_hours": 0})).json()["key"]
        statuses += [await status(first), await status(rotated)]
        await root.change("POST", "access/keys/a/b/revoke")
        statuses.append(await status(rotated))
        revoked = (await line())["state"]
        await root.change("POST", "access/keys/a/b/restore")
        statuses.append(await status(rotated))
        lines = [one["text"] for one in (await root.get("audit")).json()["lines"]]
        secrets_shown = [key for key in (first, rotated) if key in (await root.get("access")).text]

    assert made.status_code == 201
    assert [created["user"], created["scopes"], created["state"], created["in"]] == [
        "carol",
        ["operator:default"],
        "active",
        "store",
    ]
    assert created["expires_at"] > "2026"
    assert statuses == [200, 401, 200, 401, 200]
    assert revoked == "revoked"
    assert secrets_shown == []
    assert [line for line in reversed(lines) if "the key a/b" in line] == [
        f"operator: root {did} the key a/b" for did in ("created", "rotated", "revoked", "restored")
    ]


async def test_a_key_of_the_file_is_revoked_in_the_console_with_its_sessions(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, with_store(tmp_path)) as server:
        signed_in = await User(server, "bob").change("POST", "session")
        cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
        before = (await server.client.get("/operator/me", headers=cookie)).status_code
        await User(server, "root").change("POST", "access/keys/bob/revoke")
        after = [
            (await User(server, "bob").get("me")).status_code,
            (await server.client.get("/operator/me", headers=cookie)).status_code,
        ]

    assert before == 200
    assert after == [401, 401]


async def test_the_last_key_that_can_change_keys_is_not_revoked(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, with_store(tmp_path)) as server:
        root = User(server, "root")
        refused = await root.change("POST", "access/keys/root/revoke")
        still = (await root.get("access")).json()
        await root.change("POST", "access/keys", {"name": "second", "scopes": ["operator.*:*"]})
        allowed = await root.change("POST", "access/keys/root/revoke")

    assert (refused.status_code, refused.json()["error"]) == (409, "last_administrator")
    assert "rightseat keys revoke" in refused.json()["message"]
    assert still["own_key"] == "root"
    assert allowed.status_code == 204


@pytest.mark.parametrize(
    ("user", "edit", "path", "body", "status", "code"),
    [
        ("olga", True, "access/keys", {"name": "x"}, 403, "insufficient_scope"),
        ("olga", True, "access/keys/bob/revoke", {}, 403, "insufficient_scope"),
        ("root", False, "access/keys", {"name": "x"}, 403, "insufficient_scope"),
        ("root", True, "access/keys", {"name": "bob"}, 409, "key_exists"),
        ("root", True, "access/keys", {"name": ""}, 400, "bad_request"),
        ("root", True, "access/keys", {"name": "x", "scopes": ["operator"]}, 400, "bad_request"),
        ("root", True, "access/keys", {"name": "x\0"}, 400, "bad_request"),
        ("root", True, "access/keys/nobody/revoke", {}, 404, "key_not_found"),
        ("root", True, "access/keys/nobody/restore", {}, 404, "key_not_found"),
        ("root", True, "access/keys/bob/rotate", {}, 409, "key_not_changeable"),
        ("root", True, "access/keys/bob%00/revoke", {}, 400, "bad_request"),
    ],
)
async def test_a_change_that_is_refused_changes_nothing(
    serve: Serve, tmp_path: Path, user: str, edit: bool, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    async with serving(serve, with_store(tmp_path, edit=edit)) as server:
        before = (await User(server, "root").get("access")).json()["keys"]
        answer = await User(server, user).change("POST", path, body)
        after = (await User(server, "root").get("access")).json()["keys"]

    assert (answer.status_code, answer.json()["error"]) == (status, code)
    for key in (*before, *after):
        del key["last_used_at"]  # the requests are uses
    assert after == before


async def test_a_server_without_a_store_for_keys_says_what_it_needs(serve: Serve) -> None:
    text = CONFIGURATION.replace("keep_alive: 0.2}", "keep_alive: 0.2, edit: true}") + KEYS
    async with serving(serve, text) as server:
        answer = await User(server, "root").change("POST", "access/keys", {"name": "x"})
        access = (await User(server, "root").get("access")).json()

    assert answer.status_code == 501
    assert "threads: {type: sql}" in answer.json()["message"]
    assert (access["can_change"], access["has_store"]) == (False, False)


async def test_the_audit_log_of_a_store_outlives_the_server(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, AUDIT_LOGGER)
    async with serving(serve, with_store(tmp_path)) as server:
        await User(server, "olga").change("POST", "session")
        await User(server, "olga").get("me")
    async with serving(serve, with_store(tmp_path)) as server:
        lines = (await User(server, "wu").get("audit")).json()["lines"]

    found = [(line["kind"], line["user"], line["text"]) for line in lines]
    assert ("sign_in", "olga", "operator: olga signed in") in found
    assert found.count(("key_use", "olga", "operator was used with the key 'olga'")) == 1


async def test_the_last_use_of_a_key_of_the_file_is_still_known_after_a_restart(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, with_store(tmp_path)) as server:
        await User(server, "alice").get("me")
    async with serving(serve, with_store(tmp_path)) as server:
        answer = await User(server, "root").get("access")

    used = {one["name"]: one["last_used_at"] for one in answer.json()["keys"]}
    assert used["alice"] is not None
    assert used["slow"] is None
