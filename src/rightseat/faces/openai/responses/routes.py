"""The routes of the Responses API, below the path of the face."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.sealed_reasoning import Sealer
from rightseat.faces.openai.responses.conversation_store import ConversationStore
from rightseat.faces.openai.responses.conversations import Conversations
from rightseat.faces.openai.responses.new_response import NewResponses
from rightseat.faces.openai.responses.response_store import ResponseStore
from rightseat.faces.openai.responses.stored_responses import StoredResponses

Endpoint = Callable[[bytes, Request, Principal], Awaitable[Response]]


def response_routes(
    runtime: Runtime,
    names: ModelNames,
    *,
    headers: tuple[str, ...],
    keep_alive: float,
    path: str,
    key_file: Path,
    quota: int | None,
    max_bytes: int,
) -> Mapping[tuple[str, str], Endpoint]:
    """Method and path → endpoint. `quota` is how many bytes of items a user may store."""
    sealer = Sealer(key_file)
    store = ResponseStore(runtime, sealer.seal)
    kept = ConversationStore(runtime, store, quota)
    conversations = Conversations(runtime, names, kept, sealer)
    new = NewResponses(
        runtime, names, store, kept, sealer, headers=headers, keep_alive=keep_alive, path=path, max_bytes=max_bytes
    )
    stored = StoredResponses(runtime, store, sealer.seal, keep_alive=keep_alive, path=path)
    return {
        ("POST", "/responses"): new.create,
        ("GET", "/responses/{response}"): stored.retrieve,
        ("DELETE", "/responses/{response}"): stored.delete,
        ("POST", "/responses/{response}/cancel"): stored.cancel,
        ("GET", "/responses/{response}/input_items"): stored.list_input,
        ("POST", "/conversations"): conversations.create,
        ("GET", "/conversations/{conversation}"): conversations.retrieve,
        ("POST", "/conversations/{conversation}"): conversations.update,
        ("DELETE", "/conversations/{conversation}"): conversations.delete,
        ("GET", "/conversations/{conversation}/items"): conversations.list_items,
        ("POST", "/conversations/{conversation}/items"): conversations.add_items,
        ("GET", "/conversations/{conversation}/items/{item}"): conversations.retrieve_item,
    }
