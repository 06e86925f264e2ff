"""docs/how-to/guardrails.md says what is so."""

import re
from pathlib import Path
from typing import Any

import pytest

from rightseat import config
from rightseat.core.ask import Ask
from rightseat.core.errors import GuardDenied
from rightseat.core.messages import user

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "guardrails.md").read_text()


def snippet(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


def test_the_configuration_is_right() -> None:
    read = config.parse(snippet("yaml"), environ={"OPENAI_API_KEY": "sk"})

    assert [guard.type for guard in read.guards] == ["patterns", "personal_data", "judge"]


async def test_the_guard_of_your_own_works() -> None:
    module: dict[str, Any] = {}
    exec(snippet("python"), module)  # noqa: S102
    guard = module["build"](module["Options"](longest=5), None)

    await guard.check_question(Ask(messages=(user("Short"),)))
    with pytest.raises(GuardDenied, match="at most 5 characters"):
        await guard.check_question(Ask(messages=(user("Longer"),)))
