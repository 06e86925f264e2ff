"""A growing answer, put together as the clients do it: `mergeResultPatch` and `deepMerge` of urql 5.2.0."""

import json
from collections.abc import Iterable
from typing import Any

Payload = dict[str, Any]


def parts(body: bytes) -> list[Payload]:
    """The payloads of a multipart answer whose every byte is as it should be."""
    assert body.startswith(b"\r\n---\r\n")
    assert body.endswith(b"\r\n-----\r\n")
    read = []
    for part in body.removeprefix(b"\r\n---").removesuffix(b"--\r\n").split(b"\r\n---")[:-1]:
        head, _, payload = part.partition(b"\r\n\r\n")
        assert head == b"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d" % len(payload)
        read.append(json.loads(payload))
    assert [payload["hasNext"] for payload in read] == [True] * (len(read) - 1) + [False]
    return read


def merge(payloads: Iterable[Payload]) -> dict[str, Any]:
    """The `data` that an application ends up with."""
    first, *rest = payloads
    result: dict[str, dict[str, Any]] = {"data": first["data"]}
    for payload in rest:
        assert set(payload) <= {"incremental", "hasNext"}
        for patch in payload.get("incremental", ()):
            at: Any = result
            key: Any = "data"
            for step in patch["path"]:
                at, key = at[key], step
            if "items" in patch:
                assert isinstance(key, int)
                assert key == len(at)  # the clients would take anything, and leave holes
                at.extend(patch["items"])
            else:
                at[key] = deep_merge(at[key], patch["data"])
    return result["data"]


def deep_merge(target: Any, source: Any) -> Any:
    if isinstance(target, dict):
        return target | {key: deep_merge(target.get(key), value) for key, value in source.items()}
    assert not isinstance(target, list)
    return source
