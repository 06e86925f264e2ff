"""Streamed Markdown in the terminal."""

import io
import itertools

from rich.console import Console

from rightseat.cli.markdown import StreamedMarkdown

TEXT = """# Title

Some *text* with `code`,
in two lines.

| a | b |
|---|---|
| 1 | 2 |

1. one
2. two

   - nested

```python
def f(x):

    return x + 1
```

The end."""


def render(*pieces: str) -> str:
    console = Console(file=io.StringIO(), width=40)
    text = StreamedMarkdown(console)
    for piece in pieces:
        text.feed(piece)
    text.end()
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_rendered_text_does_not_depend_on_chunk_boundaries() -> None:
    by_three = ["".join(piece) for piece in itertools.zip_longest(*[iter(TEXT)] * 3, fillvalue="")]

    assert render(*TEXT) == render(*by_three) == render(*TEXT.splitlines(keepends=True))


def test_blocks_are_rendered_with_one_empty_line_between_them() -> None:
    assert render(*TEXT).splitlines() == [
        "                 Title",
        "",
        "Some text with code, in two lines.",
        "",
        " a  b",
        " ────",
        " 1  2",
        "",
        " 1 one",
        " 2 two",
        "    • nested",
        "",
        " def f(x):",
        "",
        "     return x + 1",
        "",
        "The end.",
    ]
