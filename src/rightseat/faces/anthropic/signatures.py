"""Signs thinking blocks, so that a client can send them back and cannot change them.

The signature is the sealed text itself: a client that omits the text still sends back what was thought.
"""

from pathlib import Path

from rightseat.core.types import JsonValue
from rightseat.faces._shared.sealed_reasoning import BrokenSeal, Sealer


class ThinkingSeal:
    def __init__(self, key_file: Path) -> None:
        self._sealer = Sealer(key_file)

    def sign(self, text: str) -> str:
        return self._sealer.seal({"thinking": text})

    def open(self, text: str, signature: str) -> JsonValue:
        """Raises `ValueError` if this server did not sign the text. There is no provider's data in it."""
        try:
            opened = self._sealer.unseal(signature)
        except BrokenSeal as error:
            raise ValueError(signature[:20]) from error
        if not isinstance(opened, dict) or text not in ("", opened.get("thinking")):
            raise ValueError(signature[:20])
        return None
