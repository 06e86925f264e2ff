"""Without a layer that a tool cannot do without, it is not run, and the reason says what would help."""

import msgspec
import pytest

from rightseat.plugins.sandbox.layers import LIMITS, Layers

ALL = Layers(
    uid=65534, can_read_python=True, own_root=True, network=True, landlock=7, seccomp=True, limits=tuple(LIMITS)
)


def test_with_all_layers_a_tool_is_run_and_nothing_is_missing() -> None:
    told = dict(ALL.describe())

    assert ALL.problem() is None
    assert told["landlock"] == "ABI 7, with signal scope"
    assert not any("missing" in text or "not" in text for text in told.values())


@pytest.mark.parametrize("name", ["own_root", "network", "landlock"])
def test_one_of_the_layers_that_double_another_may_be_missing(name: str) -> None:
    fewer = msgspec.structs.replace(ALL, **{name: 0 if name == "landlock" else False})

    assert fewer.problem() is None
    assert dict(fewer.describe()) != dict(ALL.describe())


@pytest.mark.parametrize(
    ("fewer", "cause", "cure"),
    [
        (msgspec.structs.replace(ALL, seccomp=False), "no seccomp filters", "on Linux"),
        (msgspec.structs.replace(ALL, uid=0), "runs as root and may not change", "as an ordinary user"),
        (msgspec.structs.replace(ALL, own_root=False, landlock=0), "neither Landlock nor namespaces", "Linux 5.13"),
        (msgspec.structs.replace(ALL, can_read_python=False), "cannot read Python", "as an ordinary user"),
    ],
)
def test_without_what_keeps_it_from_the_server_a_tool_is_not_run(fewer: Layers, cause: str, cure: str) -> None:
    said = fewer.problem() or ""

    assert cause in said
    assert cure in said


def test_what_is_weaker_is_said() -> None:
    told = dict(msgspec.structs.replace(ALL, own_root=False, landlock=3, limits=("RLIMIT_AS",)).describe())

    assert told["landlock"] == "ABI 3, without (from ABI 6 on) signal scope"
    assert "not a hard limit" in told["disk"]
    assert told["limits"] == "missing: CPU time, size of a file, open files, threads"
