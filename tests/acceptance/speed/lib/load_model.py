"""A fake model for many streams, in a process of its own: every stream gets a chunk each 50 ms, whoever reads it.

It reads the work as `upstream.py` does, and prints its port. All chunks of one tick are the same bytes, made once, so a chunk costs a
write. The text of a chunk is its number, which is the same for all streams, and when it was sent: `k17@<microseconds>;`. The numbers of an
answer follow on each other, so that its text can be checked without asking the model what it said.

GET /late returns how late the ticks were since the last time, in ms, and how many chunks were written.
"""

import asyncio
import gc
import json
import time

import httptools
import uvloop

from upstream import HEAD, PIECE, START, STOP, USAGE, WORK, framed, whole_answer

GAP_S = 0.05
TICKS = 25
TICK_S = GAP_S / TICKS
END = framed(START % 1 + STOP + USAGE % (1, 200, 230) + "data: [DONE]\n\n") + b"0\r\n\r\n"
ROLE = framed(START % 1 + '{"role":"assistant","content":""}' + PIECE)


class LoadModel:
    def __init__(self) -> None:
        self.slots: list[dict[Connection, None]] = [{} for _ in range(TICKS)]
        self.number = 0
        self.late: list[float] = []
        self.written = 0

    def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.due = self.loop.time()
        self.loop.call_at(self.due, self.tick)

    def tick(self) -> None:
        """All ticks that are due, in their order: a late one leaves none out."""
        now = self.loop.time()
        while self.due <= now:
            self.late.append((now - self.due) * 1000)
            self.due += TICK_S
            self.number += 1
            if slot := self.slots[self.number % TICKS]:
                self.write(slot, self.number // TICKS)
        self.loop.call_at(self.due, self.tick)

    def write(self, slot: "dict[Connection, None]", number: int) -> None:
        text = f"k{number}@{time.monotonic_ns() // 1000};"
        data = framed(START % 1 + '{"content":"' + text + '"}' + PIECE)
        self.written += len(slot)
        for connection in list(slot):
            connection.transport.write(data)
            connection.left -= 1
            if not connection.left:
                connection.transport.write(END)
                del slot[connection]

    def take(self) -> dict[str, float]:
        late, self.late = sorted(self.late), []
        written, self.written = self.written, 0
        return {"late_p99": late[len(late) * 99 // 100] if late else 0.0, "written": written}


class Connection(asyncio.Protocol):
    def __init__(self, model: LoadModel) -> None:
        self.model = model
        self.parser = httptools.HttpRequestParser(self)
        self.slot: dict[Connection, None] = {}
        self.left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.slot.pop(self, None)

    def on_message_begin(self) -> None:
        self.path, self.body = b"", []

    def on_url(self, url: bytes) -> None:
        self.path += url

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        body = b"".join(self.body)
        asked = list(WORK.finditer(body))
        if self.path == b"/late":
            return self.answer(self.model.take())
        if not asked or b'"stream":true' not in body.replace(b" ", b""):
            return self.answer(whole_answer())
        self.left = int(asked[-1][2])
        self.transport.write(HEAD + ROLE)
        self.slot = self.model.slots[int(asked[-1][1]) % TICKS]
        self.slot[self] = None

    def answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def main() -> None:
    model = LoadModel()
    model.start()
    server = await model.loop.create_server(lambda: Connection(model), "127.0.0.1", 0, backlog=8192)
    gc.freeze()
    gc.disable()
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


uvloop.run(main())
