"""Who may use this server: its API keys, the issuer of tokens, and the web pages that may call.

Operators with all rights can create, rotate, revoke and restore the keys of the store.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
from pydantic import ValidationError
from starlette.responses import Response

from rightseat.access.key_list import KeyLine, describe_stored, list_keys
from rightseat.access.keys import digest, generate, prefix_of
from rightseat.access.scopes import read_rights
from rightseat.access.stored_keys import StoredKeys, format_time
from rightseat.config import ApiKey
from rightseat.core.caller import CALLER
from rightseat.core.errors import BadRequest, InsufficientScope, RightseatError
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.health import ChecksNotSupported
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.health.own_server import OwnServer
from rightseat.operations.api_keys import ApiKeyExists, ApiKeyNotChangeable, KeySecret, StoredKey
from rightseat.operations.audit_lines import write_line
from rightseat.operations.rights import forbid

Days = Annotated[float, msgspec.Meta(gt=0, le=36_500)]
Hours = Annotated[float, msgspec.Meta(ge=0, le=24 * 365)]


class NewKey(msgspec.Struct):
    """The body of `POST access/keys`."""

    name: str
    user: str | None = None
    scopes: list[str] | None = None
    expires_days: Days | None = None


class Rotation(msgspec.Struct):
    """The body of `POST access/keys/NAME/rotate`."""

    overlap_hours: Hours = 24.0
    expires_days: Days | None = None


class TokenIssuer(msgspec.Struct, frozen=True):
    """`access.jwt` of the configuration."""

    issuer: str
    audience: str


class ProviderLine(msgspec.Struct, frozen=True):
    """`access.oidc` of the configuration."""

    issuer: str
    name: str


class AccessLine(msgspec.Struct, frozen=True):
    """`can_change`: the user may change the keys of the store here. `required`: requests need a credential.

    `own_key` is the name of the key that this request, or its session, used; null without one.
    `origins` is null if the configuration names none. `file` is the configuration file.
    """

    keys: Sequence[KeyLine]
    own_key: str | None
    can_change: bool
    has_store: bool
    required: bool
    jwt: TokenIssuer | None
    oidc: ProviderLine | None
    cookie: str | None
    origins: Sequence[str] | None
    hosts: Sequence[str]
    is_local: bool
    file: str


class CreatedKey(msgspec.Struct, frozen=True):
    """The secret is in no other answer."""

    key: str
    line: KeyLine


class KeysNotStored(RightseatError):
    code = "keys_not_stored"
    status = 501

    def __init__(self) -> None:
        super().__init__("This server has no store for keys. Use `threads: {type: sql}`, and require keys.")


class LastAdministrator(RightseatError):
    code = "last_administrator"
    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is the last active key with the scope 'operator.*:*': without it nobody could change keys in "
            "the console. Create another one first, or revoke it in a terminal with `rightseat keys revoke`."
        )


class AccessRoutes:
    def __init__(self, own_server: OwnServer | None, *, is_editing: bool) -> None:
        self._own_server = own_server
        self._is_editing = is_editing

    def routes(self) -> Routes:
        return {
            ("GET", "access"): self.describe,
            ("POST", "access/keys"): self.create,
            ("POST", "access/keys/{name:path}/rotate"): self.rotate,
            ("POST", "access/keys/{name:path}/revoke"): self.revoke,
            ("POST", "access/keys/{name:path}/restore"): self.restore,
        }

    async def describe(self, request: OperatorRequest) -> Response:
        """Neither keys nor their hashes. Keys are for all agents, so the right to watch only some is not enough."""
        if request.rights.watch is not None:
            forbid("watch", "*")
        own_server = self._find_server()
        access, server = own_server.config.access, own_server.config.server
        stored = (await own_server.stored_keys.store.load()).keys if own_server.stored_keys else ()
        return json_response(
            AccessLine(
                keys=list_keys(access.keys, stored, own_server.last_uses),
                own_key=CALLER.get().key or None,
                can_change=self._is_editing and request.rights.are_all and own_server.stored_keys is not None,
                has_store=own_server.stored_keys is not None,
                required=access.is_set,
                jwt=TokenIssuer(access.jwt.issuer, access.jwt.audience) if access.jwt else None,
                oidc=ProviderLine(access.oidc.issuer, access.oidc.display_name) if access.oidc else None,
                cookie=access.cookie,
                origins=server.origins,
                hosts=server.hosts,
                is_local=server.is_local,
                file=str(own_server.file),
            )
        )

    async def create(self, request: OperatorRequest) -> Response:
        """The key, this once."""
        stored = self._open_keys(request)
        new, key = request.read(NewKey), generate()
        entry = check_entry(new, key)
        if entry.name in self._names_in_file():
            raise ApiKeyExists(entry.name)
        made = StoredKey(
            entry.name,
            entry.user or f"key:{entry.name}",
            entry.scopes,
            (make_secret(key),),
            format_time(datetime.now(UTC).timestamp()),
            time_in(new.expires_days),
        )
        await stored.store.add(made)
        await stored.refresh()
        write_line("%s created the key %s", request.principal.id, entry.name, kind="key_change")
        return json_response(CreatedKey(key, describe_stored(made)), 201)

    async def rotate(self, request: OperatorRequest) -> Response:
        """The new secret, this once."""
        stored, name = self._open_keys(request), request.id("name")
        if name in self._names_in_file():
            raise ApiKeyNotChangeable(f"The key {name!r} is in the configuration file. Create another one instead.")
        rotation, key = request.read(Rotation), generate()
        overlap = timedelta(hours=rotation.overlap_hours)
        made = await stored.store.rotate(name, make_secret(key), overlap, time_in(rotation.expires_days))
        await stored.refresh()
        write_line("%s rotated the key %s", request.principal.id, name, kind="key_change")
        return json_response(CreatedKey(key, describe_stored(made)))

    async def revoke(self, request: OperatorRequest) -> Response:
        """Raises `LastAdministrator`."""
        stored, name = self._open_keys(request), request.id("name")
        own_server = self._find_server()
        lines = list_keys(own_server.config.access.keys, (await stored.store.load()).keys)
        if [line.name for line in lines if is_administrator(line)] == [name]:
            raise LastAdministrator(name)
        await stored.store.revoke(name, is_in_file=name in self._names_in_file())
        await stored.refresh()
        write_line("%s revoked the key %s", request.principal.id, name, kind="key_change")
        return Response(status_code=204)

    async def restore(self, request: OperatorRequest) -> Response:
        stored, name = self._open_keys(request), request.id("name")
        await stored.store.restore(name)
        await stored.refresh()
        write_line("%s restored the key %s", request.principal.id, name, kind="key_change")
        return Response(status_code=204)

    def _find_server(self) -> OwnServer:
        if self._own_server is None:
            raise ChecksNotSupported
        return self._own_server

    def _names_in_file(self) -> set[str]:
        return {key.name for key in self._find_server().config.access.keys}

    def _open_keys(self, request: OperatorRequest) -> StoredKeys:
        """Raises `InsufficientScope`. A key can have any scope and any user, so its author must have all rights."""
        if not request.rights.are_all:
            raise InsufficientScope("Keys can be changed with all rights only: with the scope 'operator.*:*'.")
        if not self._is_editing:
            raise InsufficientScope("Keys cannot be changed here. Start the server with `rightseat serve --edit`.")
        stored = self._find_server().stored_keys
        if stored is None:
            raise KeysNotStored
        if "\0" in request.http.path_params.get("name", ""):
            raise BadRequest("A name must not contain a NUL character.")
        return stored


def is_administrator(line: KeyLine) -> bool:
    return line.state == "active" and read_rights(line.scopes).are_all


def check_entry(new: NewKey, key: str) -> ApiKey:
    """Raises `BadRequest` in the same cases in which the configuration would be invalid."""
    entry: dict[str, Any] = {"name": new.name, "prefix": prefix_of(key), "hash": digest(key)}
    entry |= {"user": new.user} if new.user else {}
    entry |= {"scopes": new.scopes} if new.scopes else {}
    if "\0" in f"{new.name}{new.user}{new.scopes}":
        raise BadRequest("A key must not contain a NUL character.")
    try:
        return ApiKey.model_validate(entry)
    except ValidationError as error:
        detail = error.errors()[0]
        raise BadRequest(f"{detail['loc'][0]}: {detail['msg']}") from None


def make_secret(key: str) -> KeySecret:
    return KeySecret(prefix_of(key), digest(key))


def time_in(days: float | None) -> str | None:
    return None if days is None else format_time((datetime.now(UTC) + timedelta(days=days)).timestamp())
