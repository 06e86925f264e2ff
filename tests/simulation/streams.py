"""Redis, as far as the log speaks to it: streams whose ids only grow, and one who waits for news of many.

What `logs.redis` sends is what it sends to the real one, word by word; only the connection is played.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ResponseError

from rightseat.core.log import Position, position
from rightseat.logs.redis.backend import RedisBackend
from rightseat.logs.redis.connection import RESPONSE_TIMEOUT_S, Command, Reply
from rightseat.logs.redis.subscription import RedisSubscription
from rightseat.logs.shared.backend import BackendUnavailable
from tests.simulation.clock import Clock
from tests.simulation.network import Broken, Exchange, Link, Server

Stored = list[tuple[Position, bytes, bytes]]
Rewrite = Callable[[Command], Command]

NOT_ABOVE = "The ID specified in XADD is equal or smaller than the target stream top item"
BEGIN, END = Position(-1, 0), Position(10**18, 0)


@dataclass(eq=False, slots=True)
class Waiter:
    """An XREAD that has nothing to say yet."""

    exchange: "Exchange[list[Reply]]"
    places: dict[bytes, Position]


class Redis(Server):
    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.streams: dict[bytes, Stored] = {}
        self.losses = 0
        self.refuses_low_ids = True
        self._waiting: dict[bytes, Waiter] = {}

    def lose_everything(self) -> None:
        self.streams.clear()
        self.losses += 1

    def fail_for(self, seconds: float, *, hangs: bool = False, restarts: bool = True) -> None:
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting.values():
            waiter.exchange.answer([ResponseError("shutting down")])
        super().fail_for(seconds, hangs=hangs, restarts=restarts)

    def serve(self, exchange: "Exchange[list[Reply]]", client: bytes, commands: tuple[Command, ...]) -> None:
        if commands[0][0] == b"XREAD":
            self._wait(exchange, client, commands[0])
        else:
            exchange.answer([self._do(client, command) for command in commands])

    def _do(self, client: bytes, command: Command) -> Reply:
        match command:
            case (b"XADD", key, b"NOMKSTREAM", id, kind, content):
                return self._add(key, id, kind, content) if self.streams.get(key) else None
            case (b"XADD", key, id, kind, content):
                return self._add(key, id, kind, content)
            case (b"XRANGE", key, low, high):
                return self._range(key, low, high)
            case (b"XRANGE", key, low, high, _, count):
                return self._range(key, low, high)[: int(count)]
            case (b"XREVRANGE", key, high, low, _, count):
                return self._range(key, low, high)[::-1][: int(count)]
            case (b"UNLINK", *keys):
                return sum(self.streams.pop(key, None) is not None for key in keys)
            case (b"EXPIRE", *_):
                return 1  # nothing is so old here
            case (b"CLIENT", b"ID"):
                return int(client)
            case (b"CLIENT", b"UNBLOCK", other):
                if waiter := self._waiting.pop(other, None):
                    waiter.exchange.answer([None])
                return 1
        raise NotImplementedError(f"the log has learnt to say {command[0]!r}")

    def _add(self, key: bytes, id: bytes, kind: bytes, content: bytes) -> Reply:
        stored = self.streams.setdefault(key, [])
        top = stored[-1][0] if stored else Position(0, 0)
        at = Position(1_000_000, top.seq + 1) if id == b"*" else position(id.decode())  # its own ids are milliseconds
        if self.refuses_low_ids and at <= top:
            return ResponseError(NOT_ABOVE)
        stored.append((at, kind, content))
        for client in [client for client, waiter in self._waiting.items() if key in waiter.places]:
            self._tell(client)
        return str(at).encode()

    def _range(self, key: bytes, low: bytes, high: bytes) -> list[Any]:
        bottom, top = bound(low, BEGIN), bound(high, END)
        is_above, is_below = low.startswith(b"("), high.startswith(b"(")
        return [
            [str(at).encode(), [kind, content]]
            for at, kind, content in self.streams.get(key, ())
            if (at > bottom if is_above else at >= bottom) and (at < top if is_below else at <= top)
        ]

    def _wait(self, exchange: "Exchange[list[Reply]]", client: bytes, command: Command) -> None:
        milliseconds, (_, *rest) = int(command[4]), command[5:]
        half = len(rest) // 2
        waiter = Waiter(
            exchange, {key: position(id.decode()) for key, id in zip(rest[:half], rest[half:], strict=True)}
        )
        self._waiting[client] = waiter
        if not self._tell(client):
            self.clock.after(milliseconds / 1000, lambda: self._give_up(client, waiter))

    def _tell(self, client: bytes) -> bool:
        waiter = self._waiting[client]
        found = [[key, self._range(key, f"({at}".encode(), b"+")] for key, at in waiter.places.items()]
        news = [one for one in found if one[1]]
        if news:
            del self._waiting[client]
            waiter.exchange.answer([news])
        return bool(news)

    def _give_up(self, client: bytes, waiter: Waiter) -> None:
        if self._waiting.get(client) is waiter:
            del self._waiting[client]
            waiter.exchange.answer([None])


def bound(id: bytes, open_end: Position) -> Position:
    return open_end if id in (b"-", b"+") else position(id.removeprefix(b"(").decode())


class SimulatedConnection:
    """As `logs.redis.connection.RedisConnection`, without a socket."""

    def __init__(self, redis: Redis, link: Link, rewrite: Rewrite | None) -> None:
        self.connects = 1
        self._client = b"%d" % link.clock.count()
        self._redis = redis
        self._link = link
        self._rewrite = rewrite
        self._lock = asyncio.Lock()

    async def send(self, *commands: Command, blocks_s: float = 0.0) -> list[Reply]:
        if not commands:
            return []
        if self._rewrite:
            commands = tuple(map(self._rewrite, commands))
        try:
            async with self._lock, asyncio.timeout(RESPONSE_TIMEOUT_S + blocks_s):
                return await self._link.ask(lambda exchange: self._redis.serve(exchange, self._client, commands))
        except (Broken, TimeoutError) as error:
            self._client = b"%d" % self._link.clock.count()
            self.connects += 1
            raise BackendUnavailable(str(error)) from error

    async def close(self) -> None: ...


class SimulatedBackend(RedisBackend):
    """The real commands, over simulated connections."""

    def __init__(self, redis: Redis, link: Link, rewrite: Rewrite | None = None) -> None:
        super().__init__("redis://played", prefix="", min_replicas=0, retention_seconds=3600)
        self._connect: Callable[[], Any] = lambda: SimulatedConnection(redis, link, rewrite)

    async def open(self) -> None:
        self._writing, self._control, self._reading = self._connect(), self._connect(), self._connect()

    def subscribe(self) -> RedisSubscription:
        return RedisSubscription(self._connect(), self._control, self.key, None)
