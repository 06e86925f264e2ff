"""What docs/reference/stability.md promises is there and means what it meant; `just generate` records what is new."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.docs import configuration_schema
from tests.stability import frozen, interfaces

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "stability.md").read_text()
NONE: frozenset[str] = frozenset()
OLD = {"keys new": "command", "keys new --store": "flag", "keys new --user": "value"}


@pytest.mark.parametrize("interface", interfaces.INTERFACES)
def test_nothing_that_is_recorded_was_removed_or_changed(interface: str) -> None:
    expired = frozen.list_expired().get(interface, NONE)
    problems = frozen.find_problems(interface, frozen.load(interface), interfaces.read(interface), expired)

    assert list(problems) == []


@pytest.mark.parametrize("interface", interfaces.INTERFACES)
def test_the_page_names_the_recorded_file(interface: str) -> None:
    assert f"`{interface}.json`" in PAGE


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"keys new": "command", "keys new --user": "value"}, "keys new --store was removed. Give it back"),
        (OLD | {"keys new --user": "flag"}, "keys new --user was 'value' and is 'flag'. Give it back"),
        (OLD | {"keys new --by": "value, required"}, "keys new --by is new and required"),
    ],
)
def test_a_change_that_breaks_users_is_found_and_not_recorded(changed: dict[str, str], problem: str) -> None:
    (found,) = frozen.find_problems("commands", OLD, changed, NONE)
    recorded = frozen.merge(OLD, changed, NONE)

    assert found.startswith(problem)
    assert OLD.items() <= recorded.items()


def test_additions_are_recorded() -> None:
    added = OLD | {"keys new --days": "value", "pins": "command", "pins NAME": "argument, required"}

    assert list(frozen.find_problems("commands", OLD, added, NONE)) == []
    assert frozen.merge(OLD, added, NONE) == added


def test_what_has_expired_may_go() -> None:
    rest = {"keys new": "command", "keys new --user": "value"}
    expired = frozenset({"keys new --store"})

    assert list(frozen.find_problems("commands", OLD, rest, expired)) == []
    assert frozen.merge(OLD, rest, expired) == rest
    assert frozen.merge(OLD, OLD, expired) == OLD


@pytest.mark.parametrize(
    ("version", "has_expired"), [("0.1.0", False), ("0.2.7", False), ("0.3.0", True), ("1.0.0", True)]
)
def test_a_deprecated_name_works_for_two_minor_releases(version: str, has_expired: bool, tmp_path: Path) -> None:
    file = tmp_path / "deprecated.toml"
    file.write_text('[commands."keys new --store"]\nsince = "0.1"\ninstead = "nothing"\n')

    expired = frozen.list_expired(version, file)

    assert expired == {"commands": {"keys new --store"} if has_expired else set()}


def test_every_deprecated_key_says_since_when() -> None:
    schema = configuration_schema.build_schema()
    found = {
        f"{part}.{key}"
        for part, definition in schema["$defs"].items()
        for key, inner in definition.get("properties", {}).items()
        if inner.get("deprecated")
    }

    listed = tomllib.loads(frozen.DEPRECATED.read_text())
    assert found
    assert found == set(listed["configuration"])
    assert all(name in frozen.load(interface) for interface, names in listed.items() for name in names)


def test_the_files_are_lines_that_merge() -> None:
    lines = frozen.write({"b": "1", "a": "2"}).splitlines()

    assert lines == ["{", '"a": "2",', '"b": "1"', "}"]
    assert json.loads("".join(lines)) == {"a": "2", "b": "1"}
