"""TCP proxies between the servers and their services."""

import asyncio


class Proxy:
    """A TCP proxy that can be cut as a network is: nothing arrives and nothing is refused.

    What was under way when it was cut arrives late, when it heals, as TCP would have it. That is what fencing is for.
    """

    def __init__(self, target: int) -> None:
        self.target, self.port = target, 0
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 18)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        self._open.clear()

    def heal(self) -> None:
        self._open.set()

    def turn(self, target: int) -> None:
        """Lead to another port from now on; what is connected is cut off."""
        self.target = target
        for writer in list(self._writers):
            writer.transport.abort()

    async def stop(self) -> None:
        self._server.close()
        self.turn(self.target)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, both = asyncio.current_task(), {writer}
        self._tasks.add(task)
        self._writers |= both
        try:
            await self._open.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self.target, limit=1 << 18)
            both.add(back)
            self._writers |= both
            await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer))
        except (OSError, asyncio.CancelledError):  # a cancelled handler would be reported as a failure
            writer.transport.abort()
        finally:
            self._writers -= both
            self._tasks.discard(task)

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                await self._open.wait()
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()
