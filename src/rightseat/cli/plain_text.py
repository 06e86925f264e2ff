"""Makes text of models, tools and servers safe to print in a terminal."""

BIDI_CONTROLS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
CONTROL_CHARACTERS = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0), *BIDI_CONTROLS} - {ord("\n"), ord("\t")})


def remove_control_characters(text: str) -> str:
    """Without escape sequences, which could move the cursor over a question, and without changes of direction."""
    return text.translate(CONTROL_CHARACTERS)
