"""Files of every kind become text, rows or pictures; hostile ones become an error and nothing worse."""

import asyncio
import base64
import io
import time
import zipfile
from datetime import datetime
from typing import Any

import docx
import openpyxl  # type: ignore[import-untyped]  # it has no types
import pytest

from rightseat.core.errors import UnreadableFile
from rightseat.data import documents
from rightseat.data.documents import DocumentLimits, DocumentReader, charset
from rightseat.data.quotes import find
from tests.data.pdfs import Line, locked, pdf

pytestmark = pytest.mark.whole

LETTER: list[list[Line]] = [
    [("Dear shareholders,", 72, 700), ("thank you for your trust.", 72, 680)],
    [("Results of the year", 72, 540), ("Revenue increased 15% in 2024.", 72, 500)],
]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def workbook(sheets: dict[str, list[list[Any]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def archive(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            packed.writestr(name, content)
    return file.getvalue()


async def test_a_pdf_gives_its_text_by_page() -> None:
    document = await documents.read(pdf(LETTER), "pdf", "letter.pdf")

    assert [page.text for page in document.pages] == [
        "Dear shareholders,\nthank you for your trust.",
        "Results of the year\nRevenue increased 15% in 2024.",
    ]
    assert document.text.startswith("[page 1]\nDear shareholders,")


async def test_a_quotation_of_a_pdf_has_its_place_on_the_page() -> None:
    document = await documents.read(pdf(LETTER), "application/pdf", "letter.pdf")

    boxes = find("revenue increased 15% in 2024", document)

    assert boxes is not None
    (box,) = boxes[0]
    assert (box.text, box.page, box.x0) == ("Revenue increased 15% in 2024.", 2, 72.0)
    assert box.x1 == pytest.approx(72 + 176.8, abs=1)  # the width that Helvetica gives it
    assert box.top < 792 - 500 < box.bottom
    assert box.bottom - box.top < 16


@pytest.mark.parametrize(
    ("rotate", "left", "top"),
    [(0, 72, 792 - 500), (90, 500, 72), (180, 612 - 72, 500), (270, 792 - 500, 612 - 72)],
)
async def test_boxes_are_where_they_are_seen_also_on_turned_and_shifted_pages(
    rotate: int, left: float, top: float
) -> None:
    shifted = [[(text, x + 30, y + 40) for text, x, y in page] for page in LETTER]
    document = await documents.read(pdf(shifted, rotate=rotate, origin=(30, 40)), "pdf")

    word = next(word for word in document.pages[1].words if word.text == "Revenue")

    assert word.x0 - 4 <= left <= word.x1 + 4
    assert word.top - 4 <= top <= word.bottom + 4


async def test_pages_over_the_limit_are_omitted_with_a_note() -> None:
    document = await documents.read(pdf(LETTER * 3), "pdf", "long.pdf", DocumentLimits(pages=4))

    assert len(document.pages) == 4
    assert document.notes == ("Only the first 4 of 6 pages were read.",)


async def test_a_pdf_of_images_has_a_note_that_it_holds_no_text() -> None:
    document = await documents.read(pdf([[]]), "pdf", "scan.pdf")

    assert document.notes == ("The file has no text: its pages are images, most likely scans.",)


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"%PDF-1.4 and then nothing", "pdf", "damaged, or not a PDF"),
        (b"<html>404</html>", "pdf", "damaged, or not a PDF"),
        (locked(), "pdf", "password-protected"),
        (b"PK\x03\x04 and then nothing", "xlsx", "damaged"),
        (archive({"other.txt": b"x"}), "xlsx", "damaged"),
        (archive({"xl/workbook.xml": b"<no"}), "xlsx", "damaged"),
        (archive({"word/document.xml": b"<no"}), "docx", "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xls", "password-protected, or saved by an old version"),
        (b"", "csv", "empty"),
        (b"GIF is not what this is", "png", "not an image"),
        ("%%% no base64 %%%", "pdf", "not valid base64"),
        (b"x", "exe", "not supported. Supported are: csv, docx"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_with_the_reason(
    content: bytes | str, kind: str, words: str
) -> None:
    with pytest.raises(UnreadableFile, match=words):
        await documents.read(content, kind, f"file.{kind}")


async def test_a_workbook_gives_each_sheet_that_holds_something() -> None:
    file = workbook(
        {
            "Prices": [
                [],
                ["day", "close", None],
                [datetime(2024, 10, 15), 233.85],
                [datetime(2024, 10, 16, 9, 30), None],
            ],
            "Empty": [],
            "Flags": [["ok"], [True]],
        }
    )

    document = await documents.read(base64.b64encode(file).decode(), "xlsx", "book.xlsx")

    assert [(sheet.name, sheet.header, sheet.rows) for sheet in document.sheets] == [
        ("Prices", ["day", "close"], [["2024-10-15", 233.85], ["2024-10-16 09:30:00"]]),
        ("Flags", ["ok"], [[True]]),
    ]


async def test_cells_over_the_limit_are_omitted_with_a_note() -> None:
    file = workbook({"Long": [["n"], *([n] for n in range(100))]})

    document = await documents.read(file, "xlsx", "book.xlsx", DocumentLimits(cells=10))

    assert len(document.sheets[0].rows) == 10
    assert document.notes == ("Of the sheet 'Long' only the first 10 rows were read.",)


async def test_a_word_file_gives_paragraphs_and_tables_in_their_order() -> None:
    made = docx.Document()
    made.add_heading("Results", level=1)
    made.add_paragraph("Revenue grew.")
    table = made.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "a", "b"
    made.add_paragraph("The end.")
    file = io.BytesIO()
    made.save(file)

    document = await documents.read(file.getvalue(), "docx", "report.docx")

    assert document.text == "# Results\n\nRevenue grew.\n\na | b\n\nThe end."


@pytest.mark.parametrize("kind", ["docx", "xlsx"])
async def test_an_archive_that_unpacks_to_too_much_is_refused(kind: str) -> None:
    folder = {"docx": "word", "xlsx": "xl"}[kind]
    bomb = archive({f"{folder}/a.xml": b"\0" * 20_000_000})
    assert len(bomb) < 100_000

    with pytest.raises(UnreadableFile, match="unpacks to more than 10 MB"):
        await documents.read(bomb, kind, f"bomb.{kind}", DocumentLimits(unpacked=10 * 2**20))


async def test_xml_that_multiplies_itself_is_refused() -> None:
    entities = b"".join(b'<!ENTITY a%d "%b">' % (n + 1, b"&a%d;" % n * 20) for n in range(12))
    xml = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "boom">' + entities + b"]><x>&a12;</x>"

    async with asyncio.timeout(60):
        with pytest.raises(UnreadableFile):
            await documents.read(archive({"xl/workbook.xml": xml, "[Content_Types].xml": xml}), "xlsx", "bomb.xlsx")


async def test_a_file_that_takes_too_long_is_given_up() -> None:
    row = b"<row>" + b"<c><v>1</v></c>" * 100 + b"</row>"
    main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = b'<worksheet xmlns="%b"><sheetData>%b</sheetData></worksheet>' % (main, row * 9_000)
    with zipfile.ZipFile(io.BytesIO(workbook({"Long": [["x"]]}))) as small:
        entries = {name: small.read(name) for name in small.namelist()}
    file = archive(entries | {"xl/worksheets/sheet1.xml": sheet})

    with pytest.raises(UnreadableFile, match=r"took longer than 0\.01 s"):
        await documents.read(file, "xlsx", "slow.xlsx", DocumentLimits(seconds=0.01))


async def test_a_web_page_that_keeps_its_parser_busy_is_given_up() -> None:
    async with asyncio.timeout(30):
        with pytest.raises(UnreadableFile, match=r"took longer than 0\.5 s"):
            await documents.read(b"<!--" * 200_000, "html", "page.html", DocumentLimits(seconds=0.5))


async def test_a_file_over_the_limit_of_size_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(UnreadableFile, match="larger than 1 MB"):
        await documents.read("A" * 3_000_000, "pdf", "big.pdf", DocumentLimits(size=2**20))


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (b"plain \xe2\x82\xac words", "txt", "plain € words"),
        (base64.b64encode("plain € words".encode()).decode(), "txt", "plain € words"),
        ("data:text/plain;base64," + base64.b64encode(b"words").decode(), "text/plain; charset=utf-8", "words"),
        ("Handwriting", "txt", "Handwriting"),
        ("wordsinonepiece1", "md", "wordsinonepiece1"),
        ("words".encode("utf-16"), "txt", "words"),
        (b"<p>One<script>alert(1)</script></p><ul><li>Two<li>Three</ul>", "html", "One\n\n- Two\n- Three"),
        ("<head><title>x</title><style>p{}</style></head><body><h2>A &amp; B</h2>c<br>d", "html", "## A & B\nc\nd"),
        ("<table><tr><td>1<td>2</tr></table>", "html", "| 1 | 2"),
    ],
)
async def test_text_of_any_sort_is_read(content: bytes | str, kind: str, text: str) -> None:
    assert (await documents.read(content, kind, "file")).text == text


async def test_a_guessed_encoding_is_noted() -> None:
    document = await documents.read(b"caf\xe9", "txt", "old.txt")

    assert (document.text, document.notes) == ("café", ("The text is not UTF-8; it was read as Windows-1252.",))


async def test_a_long_text_is_in_parts_that_end_with_a_line() -> None:
    text = "\n".join(f"line {n} of a long text" for n in range(20_000))

    document = await documents.read(text.encode(), "", "long.txt")

    assert len(document.pages) > 50
    assert max(len(page.text) for page in document.pages) <= 6000
    assert "\n".join(page.text for page in document.pages) == text


async def test_a_csv_without_a_file_extension_is_read_as_rows() -> None:
    document = await documents.read(base64.b64encode(b"symbol,weight\nAAPL,0.6137\n").decode(), "csv", "")

    assert [(sheet.header, sheet.rows) for sheet in document.sheets] == [(["symbol", "weight"], [["AAPL", "0.6137"]])]


async def test_a_picture_is_kept_as_it_is_under_its_true_type() -> None:
    document = await documents.read(base64.b64encode(PNG).decode(), "jpg", "a.jpg")

    assert document.image is not None
    assert (document.image.media_type, document.image.data) == ("image/png", base64.b64encode(PNG).decode())


async def test_a_picture_over_its_limit_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="48 bytes; up to 10"):
        await documents.read(PNG, "png", "a.png", DocumentLimits(image=10))


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("letter.pdf", pdf(LETTER), "pdf"),
        ("", pdf(LETTER), "pdf"),
        ("", PNG, "png"),
        ("", b"<!DOCTYPE html><p>Hi", "html"),
        ("", b"words", "txt"),
        ("", workbook({"a": [["x"], [1]]}), "xlsx"),
    ],
)
async def test_the_kind_of_a_file_is_detected_from_its_content(name: str, content: bytes, kind: str) -> None:
    assert (await documents.read(content, "application/octet-stream", name)).kind == kind
    assert (await documents.read(base64.b64encode(content).decode(), "", name)).kind == kind


async def test_words_of_no_kind_are_text() -> None:
    assert (await documents.read("Some words, no base64.", "")).text == "Some words, no base64."


async def test_files_at_the_same_time_are_read_each_for_itself() -> None:
    reader = DocumentReader()

    read = await asyncio.gather(*(reader.read(pdf([[(f"Page of {n}", 72, 700)]]), "pdf") for n in range(4)))

    assert [document.text for document in read] == [f"Page of {n}" for n in range(4)]


@pytest.mark.serial
def test_text_that_is_almost_base64_is_read_in_linear_time() -> None:
    began = time.process_time()

    assert charset.decode("AAAA" + " " * 200_000 + "!", "").endswith(b"!")
    assert charset.decode(base64.b64encode(PNG).decode() + "\n", "") == PNG
    assert time.process_time() - began < 1


@pytest.mark.parametrize("section", ["<![[ x>", "<![if !IE]>", "<![CDATA[x]]>", "<![%"])
async def test_a_marked_section_in_a_page_is_a_comment(section: str) -> None:
    document = await documents.read(f"<p>before</p>{section}<p>after</p>", "html", "a.html")

    assert "before" in document.text
