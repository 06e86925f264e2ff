"""The real program at a pseudo-terminal: types, and waits for what it shows."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

CTRL_C, CTRL_D = "\x03", "\x04"
WAIT_S = 60
REACTION_S = 5
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")


class Terminal:
    def __init__(self, process: "subprocess.Popen[bytes]", master: int) -> None:
        self.process = process
        self._master = master
        self._shown = b""
        self._read_until = 0

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def enter(self, text: str) -> None:
        self.type(text + "\n")

    def interrupt(self, expected: str) -> None:
        """Press Ctrl-C until the program shows the text, or ends. Python loses one just before it waits for a line."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            self.type(CTRL_C)
            pause = time.monotonic() + REACTION_S
            while expected not in self.shown[self._read_until :] and self._read(pause):
                pass
            if expected in self.shown[self._read_until :] or self.process.poll() is not None:
                return

    @property
    def shown(self) -> str:
        """Everything that the program has shown, without escape sequences."""
        return ESCAPES.sub("", self._shown.decode(errors="replace"))

    def wait_for(self, text: str) -> str:
        """Wait until the program shows the text, after what was waited for before."""
        until = time.monotonic() + WAIT_S
        while (at := self.shown.find(text, self._read_until)) < 0:
            assert self._read(until), f"{text!r} is not in:\n{self.shown}"
        self._read_until = at + len(text)
        return self.shown[:at]

    def wait_for_end(self) -> int:
        until = time.monotonic() + WAIT_S
        while self._read(until):
            pass
        return self.process.wait(timeout=WAIT_S)

    def _read(self, until: float) -> bool:
        """False at the end of the program."""
        if not select.select([self._master], [], [], max(0, until - time.monotonic()))[0]:
            return False
        try:
            read = os.read(self._master, 65536)
        except OSError:  # Linux: the program has ended
            return False
        self._shown += read
        return bool(read)


@contextmanager
def terminal(
    *arguments: str, program: Sequence[str] = (sys.executable, "-m", "rightseat"), **environ: str
) -> Iterator[Terminal]:
    """`rightseat …` in a terminal of 100 columns."""
    master, slave = pty.openpty()
    size = {"COLUMNS": "100", "LINES": "30", "TERM": "xterm", "INPUTRC": os.devnull}
    process = subprocess.Popen(
        [*program, *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=os.environ | size | environ,
        preexec_fn=take_terminal,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        os.close(master)


def take_terminal() -> None:
    """Ctrl-C reaches the program only if the terminal is the controlling one of its session, and only if the program
    does not ignore it, which it inherits from tests that a shell runs in the background."""
    import fcntl
    import termios

    signal.signal(signal.SIGINT, signal.default_int_handler)

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
