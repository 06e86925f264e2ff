"""The setup code: printed in the terminal at a first start, it lets the console write the configuration file once."""

import hmac
import secrets
import time

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # no characters that look alike
VALID_S = 600.0
MAX_WRONG = 20
"""Further codes are refused: 40 random bits are not guessed in so few attempts."""


class SetupCode:
    """Valid for ten minutes and for one use."""

    def __init__(self) -> None:
        half = ("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(2))
        self.text = "-".join(half)
        self._expires_at = time.monotonic() + VALID_S
        self._wrong = 0
        self.is_used = False

    @property
    def is_valid(self) -> bool:
        return not self.is_used and self._wrong < MAX_WRONG and time.monotonic() < self._expires_at

    def matches(self, given: str) -> bool:
        """Whether the code is the right one and still valid. A wrong one counts as an attempt."""
        is_right = hmac.compare_digest(given.strip().upper().encode(), self.text.encode())
        if not is_right:
            self._wrong += 1
        return is_right and self.is_valid

    def use(self) -> None:
        self.is_used = True
