"""WebSockets for `rightseat serve`: uvicorn's protocol with what `ConnectionTimeouts` needs.

A client that does not read is disconnected like that of a response (`http_protocol`). A page that has sent nothing for
a while is closed by the face that has the socket.
"""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class SocketProtocol(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting_since: float | None = None  # the server never waits for the next frame
        self.unsent_bytes = 0
        self.unsent_since = 0.0
