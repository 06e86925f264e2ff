"""What the runtime knows about the faces in front of it: enough to tell users how clients connect."""

import msgspec


class ServedFace(msgspec.Struct, frozen=True):
    """A configured face. `agents` are the agents and models that it offers; None means all of them."""

    type: str
    path: str
    requires_key: bool = False
    agents: tuple[str, ...] | None = None
