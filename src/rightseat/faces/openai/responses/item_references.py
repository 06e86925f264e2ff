"""Resolves the `item_reference`s of a request to stored items.

A reference takes 80 bytes in the request and stands for an item of any size: without these limits 76 kB took 768 MB.
"""

from collections.abc import Sequence

import msgspec

from rightseat.core.ask import Principal
from rightseat.faces._shared.responses import BYTES_PER_CONTAINER
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.conversation_store import ConversationStore
from rightseat.faces.openai.responses.input_items import Item, Reference
from rightseat.faces.openai.responses.response_store import ResponseItems, ResponseStore, response_of_item
from rightseat.limits.body_pace import FREE_CONTAINERS
from rightseat.limits.read_limits import pace_body, receive_bytes

MAX_REFERENCES = 1000
"""In one request. Clients of OpenAI refer to each item of a conversation once; longer ones name the last response."""
PACED_BYTES = FREE_CONTAINERS * BYTES_PER_CONTAINER
"""After so many, the request waits for its turn, as one whose body had them would."""
NOT_STORED = (
    "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Send the item itself, or set "
    "`store` to true."
)


class ItemNotFound(InvalidRequest):
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(NOT_STORED.format(id=id[:100]), "input", "item_not_found")


class RepeatedReference(InvalidRequest):
    def __init__(self, repeated: Reference) -> None:
        text = f"{repeated.place} refers to the item '{repeated.id[:100]}' again. Refer to each item once."
        super().__init__(text, repeated.place, "repeated_item_reference")


class TooManyReferences(InvalidRequest):
    def __init__(self, count: int) -> None:
        super().__init__(
            f"The input has {count:,} item references; the limit is {MAX_REFERENCES:,}. Send `previous_response_id` or "
            "`conversation` instead of a reference to each item.",
            "input",
            "too_many_item_references",
        )


class ReferencesTooLarge(InvalidRequest):
    status = 413

    def __init__(self, max_bytes: int) -> None:
        super().__init__(
            f"The items that the input refers to have more than {max_bytes / 2**20:g} MB, the limit of a request. Send "
            "`previous_response_id` or `conversation`, or refer to fewer items. The operator sets the limit with "
            "`max_body_mb` of the face.",
            "input",
            "item_references_too_large",
        )


class ReferenceFinder:
    """`max_bytes` is the limit of a request's body: referred items count as if the client had sent them."""

    def __init__(self, store: ResponseStore, conversations: ConversationStore, max_bytes: int) -> None:
        self._store = store
        self._conversations = conversations
        self._max_bytes = max_bytes

    async def find(self, references: Sequence[Reference], principal: Principal) -> dict[str, Item]:
        """The items by their ids. Raises `InvalidRequest`."""
        check_references(references)
        found: dict[str, Item] = {}
        left, unpaced, last = self._max_bytes, 0, ResponseItems()
        for reference in sorted(references, key=lambda one: response_of_item(one.id)):  # each response is read once
            last = await self._store.find_items(reference.id, principal, last)
            item = last.items.get(reference.id) or await self._conversations.find_item(reference.id, principal)
            if item is None:
                raise ItemNotFound(reference.id)
            size = len(msgspec.json.encode(item))
            left -= size
            if left < 0:
                raise ReferencesTooLarge(self._max_bytes)
            receive_bytes(size)
            unpaced += size
            if unpaced > PACED_BYTES:
                await pace_body(unpaced // BYTES_PER_CONTAINER)
                unpaced = 0
            found[reference.id] = item
        return found


def check_references(references: Sequence[Reference]) -> None:
    """Raises `TooManyReferences` and `RepeatedReference`."""
    if len(references) > MAX_REFERENCES:
        raise TooManyReferences(len(references))
    seen: set[str] = set()
    for reference in references:
        if reference.id in seen:
            raise RepeatedReference(reference)
        seen.add(reference.id)
