"""Clients of many streams, in a process of their own: a number of answers at any time, each followed by the next one.

    load_client.py URL FACE

reads commands from stdin, one a line, and prints a line of JSON for each `take`:

    level STREAMS SECONDS    so many streams, the new ones opened evenly within so many seconds
    take                     what was received since the last `take`

It parses no HTTP while it measures: it looks for the marks of the chunks. Of each fiftieth answer it keeps the bytes, reads them as a client
of that face would, and checks the text; of the others it checks the number of chunks and their order.
"""

import gc
import json
import random
import re
import select
import socket
import sys
import time
from urllib.parse import urlsplit

import httptools

from client import Client
from faces import FACES, Broken

MARK = re.compile(rb"k(\d+)@(\d{6,20});")
TEXT = re.compile(r"k(\d+)@\d{6,20};")
CHUNKS = 200  # ten seconds
CHECKED = 50
MAX_EVENTS = 1024


class Answer:
    """One request and its answer."""

    def __init__(self, client: Client, chunks: int) -> None:
        self.chunks = chunks
        self.id, request = client.request(chunks, 50)
        self.marks, self.last, self.tail = 0, 0, b""
        self.status = b""
        self.kept: list[bytes] | None = [] if self.id % CHECKED == 0 else None
        self.socket = socket.create_connection((client.url.hostname, client.url.port))
        self.socket.setblocking(False)
        self.socket.send(request)


class Clients:
    def __init__(self, url: str, face: str) -> None:
        self.client = Client(url, FACES[face])
        self.face = FACES[face]
        self.epoll = select.epoll()
        self.epoll.register(0, select.EPOLLIN)
        self.answers: dict[int, Answer] = {}
        self.level, self.step_s, self.due = 0, 0.0, 0.0
        self.forget()

    def forget(self) -> None:
        self.delays: list[int] = []
        self.passes: list[float] = []
        self.reads = self.ended = self.checked = 0
        self.errors: list[str] = []

    def run(self) -> None:
        while True:
            timeout = max(0.0, self.due - time.monotonic()) if len(self.answers) < self.level else 1.0
            events = self.epoll.poll(timeout, MAX_EVENTS)
            began = time.monotonic()
            for number, _ in events:
                if number:
                    self.read(number)
                elif not self.obey():
                    return
            while len(self.answers) < self.level and self.due <= time.monotonic():
                self.due += self.step_s
                self.open(random.randint(CHUNKS // 10, CHUNKS))  # so that they do not all end at once
            self.passes.append((time.monotonic() - began) * 1000)

    def obey(self) -> bool:
        words = sys.stdin.readline().split()
        if not words:
            return False
        if words[0] == "level":
            self.step_s = float(words[2]) / max(1, int(words[1]) - self.level)
            self.level, self.due = int(words[1]), time.monotonic()
        else:
            print(json.dumps(self.take()), flush=True)
        return True

    def open(self, chunks: int) -> None:
        answer = Answer(self.client, chunks)
        self.answers[answer.socket.fileno()] = answer
        self.epoll.register(answer.socket, select.EPOLLIN)

    def read(self, number: int) -> None:
        answer = self.answers[number]
        try:
            data = answer.socket.recv(262144)
        except ConnectionError:
            data = b""
        now = time.monotonic_ns() // 1000
        if not data:
            return self.end(number, answer)
        if answer.kept is not None:
            answer.kept.append(data)
        answer.status = answer.status or data[9:12]
        if answer.marks == answer.chunks:  # some faces repeat the text at the end
            return
        seen = answer.tail + data
        marks = MARK.findall(seen)
        answer.tail = seen[-32:].rpartition(b";")[2]  # perhaps the beginning of a mark
        if not marks:
            return
        self.reads += 1
        for order, sent in marks:
            position = int(order)
            if answer.marks and position != answer.last + 1:
                self.errors.append(f"chunk {position} follows chunk {answer.last}")
            answer.last = position
            answer.marks += 1
            self.delays.append(now - int(sent))
            if answer.marks == answer.chunks:
                return

    def end(self, number: int, answer: Answer) -> None:
        answer.socket.close()
        del self.answers[number]
        self.ended += 1
        if answer.status != b"200" or answer.marks != answer.chunks:
            self.errors.append(f"HTTP {answer.status.decode()}, {answer.marks} of {answer.chunks} chunks")
        elif answer.kept is not None:
            self.check(answer)
        if len(self.answers) < self.level and len(self.errors) < 100:
            self.open(CHUNKS)

    def check(self, answer: Answer) -> None:
        """The whole answer, as the face's own client reads it."""
        response = Response(b"".join(answer.kept or ()))
        self.checked += 1
        try:
            text = self.face.read(response.content_type, b"".join(response.parts))
        except (Broken, LookupError, TypeError, ValueError) as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            return
        numbers = [int(number) for number in TEXT.findall(text)]
        if TEXT.sub("", text) or numbers != list(range(numbers[0], numbers[0] + answer.chunks)):
            self.errors.append(f"the text differs: {text[:200]!r}")

    def take(self) -> dict[str, object]:
        delays, passes = sorted(self.delays), sorted(self.passes)
        taken = {
            "streams": sum(answer.marks > 0 for answer in self.answers.values()),
            "open": len(self.answers),
            "chunks": len(delays),
            "p50": percentile(delays, 50) / 1000,
            "p99": percentile(delays, 99) / 1000,
            "chunks_per_read": len(delays) / max(1, self.reads),
            "pass_p99": percentile(passes, 99),
            "ended": self.ended,
            "checked": self.checked,
            "errors": len(self.errors),
            "error": self.errors[0] if self.errors else "",
        }
        self.forget()
        return taken


class Response:
    def __init__(self, data: bytes) -> None:
        self.content_type, self.parts = "", []
        httptools.HttpResponseParser(self).feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type":
            self.content_type = value.decode("latin1")

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)


def percentile(ordered: list, percent: int) -> float:
    return ordered[len(ordered) * percent // 100] if ordered else float("inf")


gc.disable()
Clients(sys.argv[1], sys.argv[2]).run()
