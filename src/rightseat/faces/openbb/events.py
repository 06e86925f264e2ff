"""The six events of the wire, as bytes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import json

from rightseat.faces.openbb.functions import Step

Level = Literal["INFO", "WARNING", "ERROR"]

encode = json.Encoder().encode

CHUNK = b'event: copilotMessageChunk\ndata: {"delta":%b}\n\n'
STATUS = b"event: copilotStatusUpdate\ndata: %b\n\n"
ARTIFACT = b"event: copilotMessageArtifact\ndata: %b\n\n"
CITATIONS = b'event: copilotCitationCollection\ndata: {"citations":%b}\n\n'
CALL = b"event: copilotFunctionCall\ndata: %b\n\n"
SUGGESTIONS = b'event: copilotPromptSuggestions\ndata: {"suggestions":%b}\n\n'


def chunk(text: str) -> bytes:
    return CHUNK % encode(text)


def status(step: Step, level: Level = "INFO") -> bytes:
    return written_status({"eventType": level, "message": step.message, "details": step.details})


def written_status(value: Mapping[str, Any]) -> bytes:
    """`value` is what a tool said: the group, which is the same for all, is added."""
    whole = {"eventType": "INFO", "message": "", "group": "reasoning", "hidden": False} | dict(value)
    return STATUS % encode(whole)


def artifact(value: Mapping[str, Any]) -> bytes:
    return ARTIFACT % encode(value)


def citations(found: Sequence[Any]) -> bytes:
    return CITATIONS % encode(found)


def call(function: str, arguments: Mapping[str, Any], state: Mapping[str, str] | None) -> bytes:
    found: dict[str, Any] = {"function": function, "input_arguments": arguments}
    return CALL % encode(found | ({"extra_state": state} if state else {}))


def suggestions(prompts: Sequence[str]) -> bytes:
    return SUGGESTIONS % encode(prompts)
