"""`rightseat serve` as a program, and the lines that it prints."""

import queue
import subprocess
import threading

WAIT_S = 180.0


class ServerProcess:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self._arrived: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def wait_for(self, text: str) -> str:
        """The next line that contains the text."""
        while True:
            line = self._arrived.get(timeout=WAIT_S)
            self.lines.append(line)
            if text in line:
                return line

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._arrived.put(line.rstrip())
