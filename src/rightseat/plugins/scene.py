"""What a call of a flow can see: the question, what earlier steps gave, the files of the conversation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rightseat.core.ask import ANYONE, Principal
from rightseat.core.values import JsonValue
from rightseat.plugins.results import Problem, Result


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of this conversation. `data` is its content as base64; nobody finds it by its name from elsewhere."""

    id: str
    name: str
    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Scene:
    """`data` is the output of the last step that gave one. `steps` are all earlier results, in their order.

    `data_from` is the name of that step, `calls` are the calls of all of them. `history` are the last turns, as role
    and text; `summary` is all that was said before the question, in short. `is_attended` says that somebody can be
    asked: without that, what is missing is an error at once.
    `context` is what happened so far in a model's words, where it was too long to tell. `error` is there in `on_error`
    only. `window` is how many tokens the model can read, prompt and answer together. `response_notes` are, by step,
    what the plugin's document says of its output.
    """

    question: str
    data: JsonValue = None
    data_from: str = ""
    steps: Mapping[str, Result] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Upload, ...] = ()
    summary: str = ""
    history: tuple[tuple[str, str], ...] = ()
    time: datetime = field(default_factory=lambda: datetime.now().astimezone())
    language: str = "en"
    user: Principal = ANYONE
    is_attended: bool = True
    context: str | None = None
    error: Problem | None = None
    window: int = 32_768
    response_notes: Mapping[str, str] = field(default_factory=dict)
