"""Reads Word files: paragraphs and tables, in order."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rightseat.core.errors import NotConfigured, UnreadableFile
from rightseat.data.documents import archives
from rightseat.data.documents.limits import DocumentLimits
from rightseat.installation import missing_extra

if TYPE_CHECKING:
    from docx.table import Table


def read(data: bytes, limits: DocumentLimits) -> str:
    archives.check_archive(data, limits, "word/")
    try:
        import docx
        from docx.table import Table
    except ImportError:
        raise NotConfigured(f"Word files need python-docx: {missing_extra('openbb')}.") from None
    try:
        document = docx.Document(io.BytesIO(data))
        blocks = [
            "\n".join(write_table(block)) if isinstance(block, Table) else write_paragraph(block)
            for block in document.iter_inner_content()
        ]
    except MemoryError:
        raise
    except Exception as error:  # damaged XML can raise anything
        raise UnreadableFile(f"It is damaged: {type(error).__name__}.") from error
    return "\n\n".join(block for block in blocks if block.strip())


def write_paragraph(paragraph: Any) -> str:
    style = (paragraph.style.name or "") if paragraph.style is not None else ""
    level = style.removeprefix("Heading ")
    if level.isdecimal() and level != style:
        return f"{'#' * min(int(level), 6)} {paragraph.text}"
    return f"- {paragraph.text}" if style.startswith("List") and paragraph.text else str(paragraph.text)


def write_table(table: "Table") -> Iterator[str]:
    for row in table.rows:
        yield " | ".join(" ".join(cell.text.split()) for cell in row.cells)
