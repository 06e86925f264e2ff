"""The command that adds an extra fits how rightseat was installed."""

import os
import shlex
from pathlib import Path

import pytest

from rightseat import installation
from rightseat.core.types import JsonValue


def folder(path: Path, *, is_editable: bool = False) -> dict[str, JsonValue]:
    info: dict[str, JsonValue] = {"editable": True} if is_editable else {}
    return {"url": path.as_uri(), "dir_info": info}


def test_an_installation_from_a_checkout_gets_the_extra_from_there(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()

    assert installation.command_for(folder(checkout), "mcp") == f"pip install '{checkout}[mcp]'"
    assert installation.command_for(folder(checkout, is_editable=True), "mcp") == f"pip install -e '{checkout}[mcp]'"


def test_in_the_checkout_itself_the_command_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert installation.command_for(folder(Path(os.curdir).absolute()), "mcp") == "pip install '.[mcp]'"


def test_a_path_with_a_space_is_one_word_for_the_shell(tmp_path: Path) -> None:
    checkout = tmp_path / "my copilot's"
    checkout.mkdir()

    assert shlex.split(installation.command_for(folder(checkout), "mcp"))[2] == f"{checkout}[mcp]"


def test_a_checkout_that_is_gone_leaves_its_list_of_packages(tmp_path: Path) -> None:
    command = shlex.split(installation.command_for(folder(tmp_path / "gone"), "redis"))

    assert command[:2] == ["pip", "install"]
    assert [package.partition(">")[0] for package in command[2:]] == ["redis[hiredis]"]


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ({}, "rightseat[mcp]"),
        (
            {
                "url": "https://git.test/r.git",
                "vcs_info": {"vcs": "git", "commit_id": "ab", "requested_revision": "v1"},
            },
            "rightseat[mcp] @ git+https://git.test/r.git@v1",
        ),
        ({"url": "https://a.test/r-1.whl", "archive_info": {}}, "rightseat[mcp] @ https://a.test/r-1.whl"),
    ],
)
def test_an_index_a_repository_and_an_archive_are_named(origin: dict[str, JsonValue], source: str) -> None:
    assert shlex.split(installation.command_for(origin, "mcp")) == ["pip", "install", source]
    with_uv = installation.command_for(origin, "mcp", installs_with_uv=True)
    assert shlex.split(with_uv) == ["uv", "pip", "install", source]


def test_a_message_for_clients_has_no_path() -> None:
    assert installation.missing_extra("openbb") == "install the extra 'openbb' of rightseat on the server"
