"""The names of channels, and the tokens that open them.

Both are signed with the key of the server's sessions, each for its own purpose. The code in a name is of one user and
of one start of a server: a client whose list has died subscribes again when it loads a list with another code.
"""

import hmac
import re
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import Literal

from rightseat.access.sessions import SessionClaims, Sessions

TOKEN_HOURS = 12.0
OVERLAP = timedelta(seconds=60)
"""Changes from so long before the token are sent again: between the list and the token, by other servers' clocks, and
in transactions that were not committed yet."""
CODE_PATTERN = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}")

Channel = Literal["threads", "memories"]
PREFIXES: dict[str, Channel] = {"user_meta:memories:": "memories", "user_meta:": "threads"}
"""The longer one first."""


class LiveTokens:
    """`mode` keeps tokens of a server without keys from counting once it has keys."""

    def __init__(self, key: bytes, mode: str) -> None:
        self.sessions = Sessions(hmac.digest(key, f"live lists: {mode}".encode(), "sha256"), TOKEN_HOURS)
        self._code_key = hmac.digest(key, b"channels of live lists", "sha256")
        self._start = secrets.token_hex(8)

    def read(self, token: str) -> SessionClaims:
        """Raises `SessionExpired`."""
        return self.sessions.read(token)

    def write_code(self, user: str) -> str:
        return f"{self._start}-{self._sign(self._start, user)}"

    def is_code_of(self, code: str, user: str) -> bool:
        """Also one of another server, or of this one before it was started again."""
        if not CODE_PATTERN.fullmatch(code):
            return False
        start, _, signature = code.partition("-")
        return hmac.compare_digest(self._sign(start, user), signature)

    def read_topic(self, topic: str, user: str) -> Channel | None:
        """None if the topic is none of this user's."""
        for prefix, channel in PREFIXES.items():
            if topic.startswith(prefix):
                return channel if self.is_code_of(topic.removeprefix(prefix), user) else None
        return None

    def _sign(self, start: str, user: str) -> str:
        return hmac.digest(self._code_key, f"{start}\0{user}".encode(), "sha256").hex()[:32]


def missed_since(claims: SessionClaims) -> str:
    """The time from which on a page with this token may have missed changes, in the form of stored times."""
    opened_at = claims.opened_at or time.time() - TOKEN_HOURS * 3600
    return write_time(datetime.fromtimestamp(opened_at, UTC) - OVERLAP)


def write_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
