"""The session of one Workspace request: all data and tools that its answer needs.

It is built once per request and closed when the response ends.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.citations.stream import QuoteFinder, index_quotes
from rightseat.faces.openbb.prompt.files import FileService, RequestFiles
from rightseat.faces.openbb.request.state import State, count_usage, restore_question_fields
from rightseat.faces.openbb.request.types import FunctionResult, Query
from rightseat.faces.openbb.tools.catalog import FunctionCatalog

if TYPE_CHECKING:
    from rightseat.data.token_budget import OutputBudget

EMPTY: Mapping[str, Any] = {}
LABEL_LETTERS = {"widget": "S", "artifact": "C", "web": "U", "direct retrieval": "T"}


class Session:
    """`states` are the verified states of the request, by message index; `last_state` is that of the last message.

    `data_bytes` is how much data the model may be shown, `files_url` the base URL of files.
    """

    __slots__ = (
        "artifact_names",
        "catalog",
        "face_tools",
        "files",
        "files_url",
        "has_results",
        "is_legacy",
        "last_state",
        "notes",
        "output_budget",
        "query",
        "quotes",
        "sources",
        "states",
        "usage",
    )

    def __init__(
        self,
        query: Query,
        states: Mapping[int, State],
        files_service: FileService,
        data_bytes: int,
        files_url: str | None = None,
    ) -> None:
        self.query = restore_question_fields(query, states)
        self.is_legacy = query.is_legacy
        self.states = states
        self.last_state = states.get(len(query.messages) - 1)
        self.usage = count_usage(query, states)
        self.has_results = any(isinstance(entry, FunctionResult) for entry in query.messages)
        self.catalog = FunctionCatalog(query)
        self.notes: list[str] = []  # shown to the user before the answer
        self.files = RequestFiles(files_service, data_bytes, self.notes)
        self.files_url = files_url
        self.sources: list[CitationSource] = []
        self.quotes: QuoteFinder | None = None  # if there are documents to quote
        self.output_budget: OutputBudget | None = None  # bytes of data that tools may still return
        self.artifact_names: list[str] = []  # of the chat
        self.face_tools: tuple[str, ...] = ()  # names of the tools of the face, which emit their own statuses

    def add_source(self, source: CitationSource) -> CitationSource:
        """Register a source under the next label of its kind, such as `S2`."""
        letter = LABEL_LETTERS[source.kind]
        source.label = f"{letter}{sum(known.label[:1] == letter for known in self.sources) + 1}"
        self.sources.append(source)
        return source

    def unique_name(self, name: str) -> str:
        """Make an artifact name unique in the chat: Workspace looks artifacts up by name."""
        found, number = name, 1
        while found in self.artifact_names:
            number += 1
            found = f"{name} ({number})"
        self.artifact_names.append(found)
        return found

    async def index_quotes(self) -> None:
        """Index the documents among the sources to find quotations in them."""
        self.quotes = None if self.is_legacy else await index_quotes(self.sources)

    def release_request(self) -> None:
        """Free the data of the request after reading it: it may be large, and a response may take minutes."""
        self.query = msgspec.structs.replace(self.query, messages=(), context=(), raw=EMPTY)
        self.states, self.last_state = {}, None

    async def aclose(self) -> None:
        await self.files.aclose()
