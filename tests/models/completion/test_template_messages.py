"""Messages as chat templates know them."""

import pytest

from rightseat.core.errors import BadRequest
from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, system, user
from rightseat.models.completion.backend import Description
from rightseat.models.completion.styles import STYLES
from rightseat.models.completion.template_messages import expects_objects, order_roles, short_id, write_turns

ID = "call_0123456789abcdef"
ASKED = (
    system("Be brief."),
    user("How is it in Oslo?"),
    Message("assistant", (Text("Let me see."), Call(ID, "get_weather", '{"city": "Oslo"}'))),
    Message("tool", (Result(ID, "get_weather", "snow"),)),
)
OBJECTS = Description(template="x", caps={"supports_object_arguments": True})
STRINGS = Description(template="x", caps={"supports_object_arguments": False})


def test_a_call_keeps_its_arguments_as_text_where_the_template_wants_text() -> None:
    written = write_turns(ASKED, STYLES["functionary-v3.1"], STRINGS)

    assert written[2]["content"] == "Let me see."
    assert written[2]["tool_calls"] == [
        {"id": ID, "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    ]
    assert written[3] == {"role": "tool", "name": "get_weather", "tool_call_id": ID, "content": "snow"}


def test_and_as_an_object_where_it_wants_one() -> None:
    written = write_turns(ASKED, STYLES["hermes"], OBJECTS)

    assert written[2]["tool_calls"][0]["function"]["arguments"] == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("template", "objects"),
    [("{{ call.arguments | tojson }}", True), ("{{ call.arguments|items }}", True), ("{{ call.arguments }}", False)],
)
def test_without_capabilities_the_template_determines_the_form_of_arguments(template: str, objects: bool) -> None:
    assert expects_objects(Description(template=template)) is objects


def test_broken_arguments_stay_as_they_are() -> None:
    broken = Message("assistant", (Call(ID, "get_weather", '{"city": '),))

    written = write_turns((broken,), STYLES["hermes"], OBJECTS)

    assert written[0]["tool_calls"][0]["function"]["arguments"] == '{"city": '


def test_ids_get_nine_characters_for_mistral_and_stay_the_same() -> None:
    written = write_turns(ASKED, STYLES["mistral-nemo"], OBJECTS)

    short = written[2]["tool_calls"][0]["id"]
    assert len(short) == 9
    assert short.isalnum()
    assert written[3]["tool_call_id"] == short
    assert short_id("abc123XYZ", 9) == "abc123XYZ"
    assert short_id("call_a", 9) != short_id("call_b", 9)


def test_calls_and_results_are_text_for_a_template_that_knows_neither() -> None:
    written = write_turns(ASKED, STYLES["forced-hermes"], STRINGS)

    assert written[2:] == [
        {
            "role": "assistant",
            "content": 'Let me see.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        },
        {"role": "user", "content": "<tool_response>\nsnow\n</tool_response>"},
    ]


def test_turns_of_one_speaker_become_one() -> None:
    written = write_turns((system("A."), system("B."), user("C."), user("D.")), STYLES["hermes"], OBJECTS)

    assert written == [{"role": "system", "content": "A.\n\nB."}, {"role": "user", "content": "C.\n\nD."}]


def test_a_template_without_a_system_role_gets_it_with_the_user() -> None:
    plain = Description(template="x", caps={"supports_system_role": False})

    assert order_roles([*write_turns((system("A."), user("B.")), STYLES["hermes"], plain)], plain) == [
        {"role": "user", "content": "A.\n\nB."}
    ]


def test_a_template_that_insists_on_turns_keeps_one_system_turn_and_no_more() -> None:
    strict = Description(template="roles must alternate; system", caps={"supports_system_role": True})
    said = write_turns((system("A."), user("B."), assistant("C."), system("D."), user("E.")), STYLES["hermes"], strict)

    assert [(turn["role"], turn["content"]) for turn in order_roles(said, strict)] == [
        ("system", "A."),
        ("user", "B."),
        ("assistant", "C."),
        ("user", "D.\n\nE."),
    ]


def test_an_image_is_refused_by_name() -> None:
    picture = Message("user", (Text("What is this?"), Image("image/png", "AAAA", name="cat.png")))

    with pytest.raises(BadRequest, match=r"an image 'cat\.png'"):
        write_turns((picture,), STYLES["hermes"], OBJECTS)
