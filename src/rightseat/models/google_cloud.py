"""Tokens of Google Cloud, fetched when they are needed and renewed before they run out."""

import asyncio
import logging
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rightseat.core.errors import ConfigError, ModelRefusedKey

logger = logging.getLogger(__name__)

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Tokens:
    """`file` holds a service account, or whatever else Google's libraries read; without it they look around.

    google-auth waits without asyncio, so it does its work in a thread. It is imported with the first token: it is
    large, and a server that never needs one should not pay for it.
    """

    def __init__(self, file: Path | None = None) -> None:
        if not is_installed():
            raise ConfigError("Models on Google Cloud need what is not installed: pip install 'rightseat[vertex]'")
        self._file = file
        self._credentials: Any = None
        self._one_at_a_time = asyncio.Lock()

    async def headers(self) -> Mapping[str, str]:
        """Raises `ModelRefusedKey`, without Google's words: they may hold more than a client should see."""
        async with self._one_at_a_time:
            if self._credentials is None or not self._credentials.valid:
                try:
                    await asyncio.to_thread(self._renew)
                except import_module("google.auth.exceptions").GoogleAuthError as error:
                    logger.warning("Google Cloud gives no token: %s", error)
                    raise ModelRefusedKey("Google Cloud gives the server no token for its model.") from None
        return {"authorization": f"Bearer {self._credentials.token}"}

    def _renew(self) -> None:
        auth, transport = import_module("google.auth"), import_module("google.auth.transport.requests")
        if self._credentials is None and self._file is not None:
            self._credentials, _ = auth.load_credentials_from_file(str(self._file), scopes=[SCOPE])
        elif self._credentials is None:
            self._credentials, _ = auth.default(scopes=[SCOPE])
        self._credentials.refresh(transport.Request())


def is_installed() -> bool:
    try:
        return find_spec("google.auth") is not None and find_spec("requests") is not None
    except ModuleNotFoundError:
        return False
