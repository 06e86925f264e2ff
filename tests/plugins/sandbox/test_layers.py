"""Without a layer that a tool cannot do without, it is not run, and the reason says what would help."""

import msgspec
import pytest

from rightseat.plugins.sandbox.layers import RLIMIT_NAMES, Layers

ALL = Layers(
    uid=65534, can_read_python=True, own_root=True, network=True, landlock=7, seccomp=True, limits=tuple(RLIMIT_NAMES)
)


def test_with_all_layers_a_tool_runs_without_warnings() -> None:
    told = dict(ALL.describe())

    assert ALL.problem() is None
    assert told["landlock"] == "ABI 7, with signal scope"
    assert not any("missing" in text or "not" in text for text in told.values())


@pytest.mark.parametrize("name", ["own_root", "network", "landlock"])
def test_a_redundant_layer_may_be_missing(name: str) -> None:
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
def test_a_tool_does_not_run_without_the_layers_that_protect_the_server(fewer: Layers, cause: str, cure: str) -> None:
    said = fewer.problem() or ""

    assert cause in said
    assert cure in said


def test_weaker_layers_are_described() -> None:
    told = dict(msgspec.structs.replace(ALL, own_root=False, landlock=3, limits=("RLIMIT_AS",)).describe())

    assert told["landlock"] == "ABI 3, without (from ABI 6 on) signal scope"
    assert "not a hard limit" in told["disk"]
    assert told["limits"] == "missing: CPU time, size of a file, open files, threads"
