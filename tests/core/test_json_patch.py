"""JSON Patch: the examples of RFC 6902 (appendix A), and what the library of AG-UI's clients makes of patches."""

from copy import deepcopy
from random import Random
from typing import Any

import pytest

from rightseat.core.json_patch import BadPatch, apply_patch
from tests.wire.agui.judging import Refused, ask

Case = tuple[Any, list[dict[str, Any]], Any]

EXAMPLES: dict[str, Case] = {
    "A.1 a member": ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
    "A.2 an element": (
        {"foo": ["bar", "baz"]},
        [{"op": "add", "path": "/foo/1", "value": "qux"}],
        {"foo": ["bar", "qux", "baz"]},
    ),
    "A.3 without a member": ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
    "A.4 without an element": (
        {"foo": ["bar", "qux", "baz"]},
        [{"op": "remove", "path": "/foo/1"}],
        {"foo": ["bar", "baz"]},
    ),
    "A.5 another value": (
        {"baz": "qux", "foo": "bar"},
        [{"op": "replace", "path": "/baz", "value": "boo"}],
        {"baz": "boo", "foo": "bar"},
    ),
    "A.6 a value moved": (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    "A.7 an element moved": (
        {"foo": ["all", "grass", "cows", "eat"]},
        [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    "A.8 a test that holds": (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    "A.10 an object in an object": (
        {"foo": "bar"},
        [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
        {"foo": "bar", "child": {"grandchild": {}}},
    ),
    "A.11 with more than is known": (
        {"foo": "bar"},
        [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
        {"foo": "bar", "baz": "qux"},
    ),
    "A.14 with escapes": ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    "A.16 at the end": (
        {"foo": ["bar"]},
        [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
        {"foo": ["bar", ["abc", "def"]]},
    ),
    "a whole document": ({"a": 1}, [{"op": "replace", "path": "", "value": [1]}], [1]),
    "a copy": ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
    "a null": ({"a": 1}, [{"op": "add", "path": "/a", "value": None}], {"a": None}),
    "the empty name": ({"": 0}, [{"op": "test", "path": "/", "value": 0}], {"": 0}),
    "nothing": ({"a": 1}, [], {"a": 1}),
}
REFUSED: dict[str, tuple[Any, list[Any]]] = {
    "A.9 a test that fails": ({"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "bar"}]),
    "A.12 where there is nothing": ({"foo": "bar"}, [{"op": "add", "path": "/baz/bat", "value": "qux"}]),
    "A.15 a text is no number": ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": "10"}]),
    "true is not 1": ({"a": {"b": [True]}}, [{"op": "test", "path": "/a", "value": {"b": [1]}}]),
    "behind the end": ({"a": [1]}, [{"op": "add", "path": "/a/2", "value": 1}]),
    "nothing to remove": ({"a": [1]}, [{"op": "remove", "path": "/a/-"}]),
    "nothing to replace": ({}, [{"op": "replace", "path": "/a", "value": 1}]),
    "leading zeros": ({"a": [1, 2]}, [{"op": "replace", "path": "/a/01", "value": 1}]),
    "into itself": ({"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": "/a/b"}]),
    "no pointer": ({"a": 1}, [{"op": "remove", "path": "a"}]),
    "no operation": ({"a": 1}, [{"op": "increment", "path": "/a"}]),
    "no value": ({"a": 1}, [{"op": "add", "path": "/a"}]),
    "no object": ({"a": 1}, ["remove"]),
    "a state that is none": (None, [{"op": "add", "path": "/a", "value": 1}]),
}


@pytest.mark.parametrize(("document", "operations", "wanted"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_apply_patch_gives_the_result_of_each_example_of_the_standard(
    document: Any, operations: list[Any], wanted: Any
) -> None:
    before = deepcopy(document)

    assert apply_patch(document, operations) == wanted
    assert document == before, "what was given stays as it was"


@pytest.mark.parametrize(("document", "operations"), REFUSED.values(), ids=REFUSED.keys())
def test_a_patch_that_cannot_be_done_is_refused(document: Any, operations: list[Any]) -> None:
    with pytest.raises(BadPatch, match="Operation 0"):
        apply_patch(document, operations)


def test_it_is_all_operations_or_none() -> None:
    document: dict[str, Any] = {"a": 1}

    with pytest.raises(BadPatch, match="Operation 1"):
        apply_patch(document, [{"op": "add", "path": "/b", "value": 2}, {"op": "remove", "path": "/c"}])

    assert document == {"a": 1}


@pytest.mark.clients
def test_patches_do_what_they_do_in_the_clients() -> None:
    """`fast-json-patch`, which AG-UI's clients apply a STATE_DELTA with."""
    cases = [a_case(Random(seed)) for seed in range(1500)]

    theirs = ask("patch", "1.0", [{"document": document, "operations": patch} for document, patch in cases])

    assert 300 < sum(isinstance(answer, Refused) for answer in theirs) < 1300, "both good and bad patches"
    for (document, patch), answer in zip(cases, theirs, strict=True):
        ours = attempted(document, patch)
        assert isinstance(ours, BadPatch) == isinstance(answer, Refused), (document, patch, answer)
        assert isinstance(ours, BadPatch) or ours == answer, (document, patch)


def attempted(document: Any, patch: list[Any]) -> Any:
    try:
        return apply_patch(document, patch)
    except BadPatch as error:
        return error


PATHS = ("", "/a", "/b", "/a/0", "/a/1", "/a/-", "/b/c", "/b/d", "/b/c/0", "/x", "/b/x~1y", "/a/9", "/")
SAFE = ("/a", "/b", "/a/0", "/a/-", "/b/c", "/b/d", "/x", "/b/x~1y")
"""Where the library keeps to the standard: it also copies to behind the end of a list, and nothing to the root."""
VALUES: tuple[Any, ...] = (None, True, 1, "s", [], {}, [1, 2], {"c": [0], "d": None}, {"x/y": 1})


def a_case(random: Random) -> tuple[Any, list[dict[str, Any]]]:
    document = {"a": [random.choice(VALUES) for _ in range(random.randrange(3))], "b": random.choice(VALUES)}
    return document, [an_operation(random) for _ in range(random.choice((1, 1, 1, 2)))]


def an_operation(random: Random) -> dict[str, Any]:
    op = random.choice(("add", "replace", "test", "remove", "move", "copy"))
    match op:
        case "move" | "copy":
            return {"op": op, "path": random.choice(SAFE), "from": random.choice(PATHS[1:])}
        case "remove":
            return {"op": op, "path": random.choice(PATHS)}
    return {"op": op, "path": random.choice(PATHS), "value": random.choice(VALUES)}
