"""`rightseat keys`"""

import re
from pathlib import Path

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
