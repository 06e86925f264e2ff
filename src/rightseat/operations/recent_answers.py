"""Remembers the last answers of transient runs in this process, so that users can judge them.

Nothing else stores these runs. It has ids and hashes, no text.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.messages import Message
from rightseat.core.usage import RunTotals
from rightseat.operations.feedback import JudgedAnswer, find_main_model

MAX_ANSWERS = 5000
Key = tuple[str, ...] | tuple[str, str, int]


class RecentAnswers:
    def __init__(self, max_answers: int = MAX_ANSWERS) -> None:
        self._max_answers = max_answers
        self._answers: OrderedDict[str, tuple[JudgedAnswer, Sequence[Key]]] = OrderedDict()  # by run
        self._runs: dict[Key, str] = {}

    def remember(self, ask: Ask, messages: Sequence[Message], totals: RunTotals | None) -> None:
        """The messages are those that the run has added to the conversation."""
        answer = JudgedAnswer(
            key=ask.run_id,
            owner=ask.principal.id,
            run=ask.run_id,
            agent=ask.agent,
            model=find_main_model(totals.models) if totals else None,
            trace_id=ask.thread_id,
        )
        keys = tuple(list_keys(answer, messages))
        self._answers[ask.run_id] = (answer, keys)
        self._runs.update(dict.fromkeys(keys, ask.run_id))
        while len(self._answers) > self._max_answers:
            run, (_, dropped) = self._answers.popitem(last=False)
            for key in dropped:
                if self._runs.get(key) == run:
                    del self._runs[key]

    def find(self, id: str, owner: str) -> JudgedAnswer | None:
        answer = self._find((id,), owner)
        return answer if answer is None or answer.run == id else msgspec.structs.replace(answer, message=id)

    def find_quoted(self, trace_id: str, text: str, owner: str) -> JudgedAnswer | None:
        """The answer with this text; otherwise the last one of the conversation."""
        return self._find((owner, trace_id, hash_text(text)), owner) or self._find((owner, trace_id), owner)

    def _find(self, key: Key, owner: str) -> JudgedAnswer | None:
        known = self._answers.get(self._runs.get(key, ""))
        return known[0] if known and known[0].owner == owner else None


def list_keys(answer: JudgedAnswer, messages: Sequence[Message]) -> Iterator[Key]:
    replies = [message for message in messages if message.role == "assistant"]
    yield (answer.key,)
    for message in replies:
        yield (message.id,)
    if answer.trace_id is not None:
        yield (answer.owner, answer.trace_id)
        yield (answer.owner, answer.trace_id, hash_text("".join(message.text for message in replies)))


def hash_text(text: str) -> int:
    """White space does not count: clients may trim it."""
    return hash(" ".join(text.split()))
