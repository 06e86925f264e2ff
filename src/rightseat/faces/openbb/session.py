"""One request of Workspace with everything that its answer needs: built once, at the top, and passed along.

A session exists from the request until its response has ended.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from rightseat.faces.openbb.asking import Query, Returned
from rightseat.faces.openbb.calls import Catalogue
from rightseat.faces.openbb.carrying import remembering, spent_on
from rightseat.faces.openbb.citing import Quotes, prepare
from rightseat.faces.openbb.files import Files, Library
from rightseat.faces.openbb.sources import Source
from rightseat.faces.openbb.state import State

if TYPE_CHECKING:
    from rightseat.data.fitting import Room

NOTHING: Mapping[str, Any] = {}
LETTERS = {"widget": "S", "artifact": "C", "web": "U", "direct retrieval": "T"}


class Session:
    """`states` came back with results and are ours, by the place of the message; `last` is that of the last message.

    `data_bytes` is how much data the model can be shown, `files_url` the address below which clients fetch files.
    """

    __slots__ = (
        "catalogue",
        "files",
        "files_url",
        "has_results",
        "last",
        "legacy",
        "names",
        "notes",
        "own_tools",
        "query",
        "quotes",
        "room",
        "sources",
        "spent",
        "states",
    )

    def __init__(
        self, query: Query, states: Mapping[int, State], library: Library, data_bytes: int, files_url: str | None = None
    ) -> None:
        self.query = remembering(query, states)
        self.legacy = query.legacy
        self.states = states
        self.last = states.get(len(query.messages) - 1)
        self.spent = spent_on(query, states)
        self.has_results = any(isinstance(entry, Returned) for entry in query.messages)
        self.catalogue = Catalogue(query)
        self.notes: list[str] = []  # what the user should know before the answer
        self.files = Files(library, data_bytes, self.notes)
        self.files_url = files_url
        self.sources: list[Source] = []
        self.quotes: Quotes | None = None  # where there are documents that may be quoted
        self.room: Room | None = None  # what tools that look into data may still return of it
        self.names: list[str] = []  # of the chat's artifacts
        self.own_tools: tuple[str, ...] = ()  # names of the face's tools, which report themselves what they do

    def add(self, source: Source) -> Source:
        """Put it among the sources, under a label of its own that counts those of its kind."""
        letter = LETTERS[source.kind]
        source.label = f"{letter}{sum(known.label[:1] == letter for known in self.sources) + 1}"
        self.sources.append(source)
        return source

    def unique(self, name: str) -> str:
        """A name that no artifact of the chat has: Workspace finds them by name."""
        found, number = name, 1
        while found in self.names:
            number += 1
            found = f"{name} ({number})"
        self.names.append(found)
        return found

    async def prepare_quotes(self) -> None:
        """Index the documents among the sources, so that quotations from them are found."""
        self.quotes = None if self.legacy else await prepare(self.sources)

    def release_request(self) -> None:
        """Drop the data of the request once it is read: it may be long, and an answer takes its time."""
        self.query = msgspec.structs.replace(self.query, messages=(), context=(), raw=NOTHING)
        self.states, self.last = {}, None

    async def aclose(self) -> None:
        await self.files.aclose()
