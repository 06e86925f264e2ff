"""Prints a run in the terminal while it happens, with its text as Markdown.

Finished blocks of the text (paragraphs, lists, tables, code) are printed for good. Only the last block is drawn again
with every change, because a terminal cannot redraw lines that have scrolled away.
"""

import time

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from rightseat.cli.ask import RunPrinter
from rightseat.cli.plain_text import remove_control_characters
from rightseat.core.events import Event, TextDelta, TextEnded

REDRAW_INTERVAL_S = 0.05  # a long code block takes some milliseconds to draw


class MarkdownPrinter:
    """Text goes to stdout as Markdown; everything else is printed like `rightseat ask` does."""

    def __init__(self) -> None:
        self._other = RunPrinter()
        self._console = Console()
        self._text: StreamedMarkdown | None = None

    def print(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                if self._text is None:
                    self._text = StreamedMarkdown(self._console)
                self._text.feed(remove_control_characters(text))
            case TextEnded():
                self.end_text()
            case _:
                self.end_text()
                self._other.print(event)

    def end_text(self) -> None:
        if self._text is not None:
            self._text.end()
            self._text = None


class StreamedMarkdown:
    """One Markdown text that arrives in pieces."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._unfinished = ""
        self._drawn_at = 0.0
        self._live = Live(
            console=console, auto_refresh=False, transient=True
        )  # its thread would draw between two lines
        self._live.start()

    def feed(self, text: str) -> None:
        finished, self._unfinished = split_blocks(self._unfinished + text)
        self._live.update(Block(self._unfinished, max_lines=self._console.height - 1))
        if finished:
            self._console.print(Block(finished), "")
        if time.monotonic() - self._drawn_at >= REDRAW_INTERVAL_S:
            self._live.refresh()
            self._drawn_at = time.monotonic()

    def end(self) -> None:
        self._live.stop()
        if self._unfinished.strip():
            self._console.print(Block(self._unfinished), end="")


def split_blocks(text: str) -> tuple[str, str]:
    """The finished blocks, and the last block, which the next piece may continue."""
    starts = [token.map[0] for token in Markdown(text).parsed if token.level == 0 and token.map]
    if len(starts) < 2:
        return "", text
    lines = text.split("\n")
    return "\n".join(lines[: starts[-1]]), "\n".join(lines[starts[-1] :])


class Block:
    """Markdown without empty lines around it, or only the last lines of it."""

    def __init__(self, text: str, max_lines: int | None = None) -> None:
        self._markdown = Markdown(text)
        self._max_lines = max_lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._markdown, options, pad=False)
        is_filled = [any(segment.text.strip() for segment in line) for line in lines]
        if not any(is_filled):
            return
        filled = lines[is_filled.index(True) : len(lines) - is_filled[::-1].index(True)]
        for line in filled[-(self._max_lines or len(filled)) :]:
            yield from line
            yield Segment.line()
