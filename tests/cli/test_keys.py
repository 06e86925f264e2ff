"""`rightseat keys`"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rightseat import app, config
from tests.cli.conftest import Run

KEY = re.compile(r"rs_[A-Za-z0-9]{8}_[A-Za-z0-9]{40}")


def find(text: str, key: str) -> tuple[str, tuple[str, ...]]:
    """Whose the key is, and what it is for, by the configuration."""
    authenticator = app.build_authenticator(config.parse(text, environ={"ALICE_KEY": "key-alice"}).access)
    assert authenticator is not None
    found = authenticator._keys.find(key)
    assert found is not None
    return found.user, found.scopes


def test_a_new_key_is_printed_once_with_its_configuration_lines(run: Run) -> None:
    result = run("keys", "new", "alice")

    key, *said = result.stdout.splitlines()
    lines = result.stdout.partition("to the configuration:\n\n")[2]
    assert KEY.fullmatch(key)
    assert key not in "\n".join(said)
    assert find(lines, key) == ("key:alice", ("*",))


def test_a_new_key_can_be_limited_to_agents_and_a_user(run: Run) -> None:
    result = run("keys", "new", "ci", "--scope", "copilotkit:default", "--scope", "openbb:*", "--user", "carol")

    key = result.stdout.splitlines()[0]
    assert find(result.stdout.partition("to the configuration:\n\n")[2], key) == (
        "carol",
        ("copilotkit:default", "openbb:*"),
    )


FILE = """\
# What rightseat serves.
models:
  default: {type: scripted}   # no key needed

access:
  # who may call
  keys:
    - {name: alice, key: "${ALICE_KEY}"}   # from the environment
    # more of them here
  cookie: session   # for the web

server: {port: 8001}
"""


def test_a_key_is_added_to_a_file_that_keeps_all_its_other_lines(run: Run) -> None:
    Path("rightseat.yaml").write_text(FILE)

    one = run("keys", "new", "bob", "--file", "rightseat.yaml").stdout.splitlines()[0]
    two = run("keys", "new", "carol", "--scope", "copilotkit:*", "--file", "rightseat.yaml").stdout.splitlines()[0]

    text = Path("rightseat.yaml").read_text()
    assert [line for line in text.splitlines() if line in FILE.splitlines()] == FILE.splitlines()
    assert find(text, one) == ("key:bob", ("*",))
    assert find(text, two) == ("key:carol", ("copilotkit:*",))
    assert find(text, "key-alice") == ("key:alice", ("*",))
    assert one not in text
    assert two not in text


@pytest.mark.parametrize(
    "before", ["", "models:\n  default: {type: scripted}", "# nothing yet\n", "server: {port: 1}\n\n\n"]
)
def test_a_key_is_added_to_a_file_without_keys(run: Run, before: str) -> None:
    Path("rightseat.yaml").write_text(before)

    key = run("keys", "new", "alice", "--file", "rightseat.yaml").stdout.splitlines()[0]

    text = Path("rightseat.yaml").read_text()
    assert text.startswith(before.rstrip())
    assert find(text, key)[0] == "key:alice"


def test_a_key_is_added_to_a_file_that_does_not_exist_yet(run: Run) -> None:
    key = run("keys", "new", "alice", "--file", "new.yaml").stdout.splitlines()[0]

    assert find(Path("new.yaml").read_text(), key)[0] == "key:alice"


@pytest.mark.parametrize(
    "text",
    [
        "access: {keys: [{name: alice, key: x}]}\n",
        "access:\n  keys: []\n",
        "access: {cookie: c}\n",
        "access: 7\n",
        "- 1\n",
        "a: [\n",
    ],
)
def test_a_file_whose_keys_are_no_block_list_is_left_unchanged(run: Run, text: str) -> None:
    Path("rightseat.yaml").write_text(text)

    result = run("keys", "new", "bob", "--file", "rightseat.yaml")

    assert result.exit_code == 1
    assert "has no block list under access.keys" in result.stderr
    assert not KEY.search(result.output)
    assert Path("rightseat.yaml").read_text() == text


def test_a_key_name_that_is_in_use_is_refused(run: Run) -> None:
    Path("rightseat.yaml").write_text(FILE)

    result = run("keys", "new", "alice", "--file", "rightseat.yaml")

    assert result.exit_code == 1
    assert result.stderr == "Error: rightseat.yaml already has a key called 'alice'. Choose another name.\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("bob", "--scope", "copilotkit"),
            "scopes: should be `*` or `face:agent`, such as copilotkit:*, not 'copilotkit'.",
        ),
        (("bob", "--scope", ""), "scopes: should be `*` or `face:agent`, such as copilotkit:*, not ''."),
        (("bob", "--user", ""), "user: String should have at least 1 character"),
        (("",), "name: String should have at least 1 character"),
        (("bob", "--file", "no/where.yaml"), "no/where.yaml cannot be written: No such file or directory."),
    ],
)
def test_an_invalid_argument_prints_one_line_and_no_key(run: Run, arguments: tuple[str, ...], complaint: str) -> None:
    result = run("keys", "new", *arguments)

    assert result.exit_code == 1
    assert result.stderr == f"Error: {complaint}\n"
    assert result.stdout == ""


# Keys in the store

REQUIRED = "models: {default: {type: scripted}}\naccess: {required: true}\n"
IN_FILE = 'models: {default: {type: scripted}}\naccess: {keys: [{name: ci, key: "key-ci-key-ci"}]}\n'


def listed(run: Run) -> dict[str, dict[str, Any]]:
    lines = run("keys", "list", "--json").stdout.splitlines()
    return {key["name"]: key for key in map(json.loads, lines)}


def test_a_key_is_added_to_the_store_where_the_configuration_requires_keys(run: Run) -> None:
    Path("rightseat.yaml").write_text(REQUIRED)

    result = run("keys", "new", "alice", "--scope", "openai:*", "--user", "carol", "--expires", "90d")

    key, *said = result.stdout.splitlines()
    assert KEY.fullmatch(key)
    assert key.encode() not in Path(".rightseat/rightseat.db").read_bytes()
    assert said[2].startswith("Added its hash to ")
    assert " It expires at 20" in said[2]
    assert said[3] == "Running servers accept it within 5 seconds."
    alice = listed(run)["alice"]
    assert alice.pop("expires_at") > "2026"
    assert alice == {
        "name": "alice",
        "prefix": key[3:11],
        "user": "carol",
        "scopes": ["openai:*"],
        "state": "active",
        "last_used_at": None,
        "in": "store",
    }


def test_a_key_in_the_store_of_an_open_server_names_the_line_that_is_missing(run: Run) -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: scripted}}\n")

    result = run("keys", "new", "alice", "--store")

    assert result.stdout.splitlines()[-1] == (
        "The server does not require keys yet: add `access: {required: true}` to rightseat.yaml and restart it."
    )


def test_a_configuration_that_is_invalid_without_a_key_still_gets_its_lines(run: Run) -> None:
    Path("rightseat.yaml").write_text("faces: [{type: openbb, access: keys}]\n")

    assert "Add these lines to the configuration:" in run("keys", "new", "alice").stdout


def test_keys_of_both_places_are_listed_revoked_and_restored(run: Run) -> None:
    Path("rightseat.yaml").write_text(IN_FILE)
    run("keys", "new", "alice", "--store")

    said = [run("keys", "revoke", name).stdout for name in ("alice", "ci")]
    revoked = {name: (key["state"], key["in"]) for name, key in listed(run).items()}
    table = run("keys", "list").stdout.splitlines()
    restored = run("keys", "restore", "ci").stdout

    assert said[1] == "Revoked the key 'ci'. Running servers refuse it and cancel its runs within 5 seconds.\n"
    assert revoked == {"alice": ("revoked", "store"), "ci": ("revoked", "file")}
    assert table[0].split("  ")[0] == "NAME"
    assert [line.split()[0] for line in table[1:]] == ["alice", "ci"]
    assert restored == "Restored the key 'ci'. Running servers accept it within 5 seconds.\n"
    assert {name: key["state"] for name, key in listed(run).items()} == {"alice": "revoked", "ci": "active"}


def test_a_rotated_key_has_a_new_secret(run: Run) -> None:
    Path("rightseat.yaml").write_text(REQUIRED)
    old = run("keys", "new", "alice").stdout.splitlines()[0]

    result = run("keys", "rotate", "alice", "--overlap", "2h")
    at_once = run("keys", "rotate", "alice", "--overlap", "0").stdout.splitlines()

    key, *said = result.stdout.splitlines()
    assert KEY.fullmatch(key)
    assert key != old
    assert "The old secret is valid until 20" in said[-1]
    assert at_once[-1].endswith("They refuse the old secret from then on.")
    assert listed(run)["alice"]["prefix"] == at_once[0][3:11]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("revoke", "nobody"), "There is no key called 'nobody'. `rightseat keys list` shows all keys."),
        (("restore", "nobody"), "There is no key called 'nobody'. `rightseat keys list` shows all keys."),
        (("rotate", "nobody"), "There is no key called 'nobody'. `rightseat keys list` shows all keys."),
        (("rotate", "ci"), "The key 'ci' is in the configuration file. Create another one to replace it."),
        (("new", "ci", "--store"), "There is already a key called 'ci'. Choose another name."),
        (("new", "x", "--expires", "90d"), "Only keys in the store expire: add --store."),
        (("new", "x", "--store", "--file", "f.yaml"), "Use either --store or --file."),
        (("new", "x", "--store", "--expires", "soon"), "Write a number and a unit: 30m, 24h, 90d or 12w."),
    ],
)
def test_a_change_that_cannot_be_made_prints_its_reason_and_no_key(
    run: Run, arguments: tuple[str, ...], complaint: str
) -> None:
    Path("rightseat.yaml").write_text(IN_FILE)

    result = run("keys", *arguments)

    assert result.exit_code in (1, 2)
    assert complaint in result.stderr
    assert result.stdout == ""


def test_a_store_in_memory_has_no_keys(run: Run) -> None:
    Path("rightseat.yaml").write_text(f"{IN_FILE}threads: {{type: memory}}\n")

    assert "only in the memory of the server" in run("keys", "revoke", "ci").stderr
    assert list(listed(run)) == ["ci"]
