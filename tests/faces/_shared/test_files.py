"""Files that runs have made: for whoever asked, as they are, and harmless in a browser."""

import msgspec
import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces._shared.files import (
    CHART_TYPE,
    FileNotFound,
    NotAnImage,
    NotAPage,
    make_file_response,
    write_disposition,
)
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads

ANNA, BERT = Principal("anna"), Principal("bert")
ASK = Ask(messages=(user("Hi"),), principal=ANNA, agent="ops")
OPTION = {
    "dataset": {"dimensions": ["region", "revenue"], "source": [{"region": "East", "revenue": 3}]},
    "series": [{"type": "bar", "name": "revenue"}],
    "xAxis": {"type": "category"},
    "yAxis": {"type": "value"},
}


def kept() -> tuple[Runtime, MemoryThreads]:
    threads = MemoryThreads()
    runtime = Runtime({}, log=MemoryLog(), threads=threads, engine=LocalEngine(), artifacts=threads.artifacts)
    return runtime, threads


async def test_a_file_is_saved_under_its_name_and_never_run() -> None:
    runtime, threads = kept()
    id = await threads.artifacts.put(ASK, "页面.html", "text/html", b"<script>alert(1)</script>")

    answer = await make_file_response(runtime, id, ANNA)

    assert answer.body == b"<script>alert(1)</script>"
    assert answer.headers["content-type"] == "text/html"
    assert answer.headers["content-disposition"].startswith("attachment; filename=\"__.html\"; filename*=UTF-8''%E9")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "private" in answer.headers["cache-control"]


async def test_an_html_file_is_shown_as_a_page_without_scripts_and_origin() -> None:
    runtime, threads = kept()
    id = await threads.artifacts.put(ASK, "report.html", "text/html; charset=latin-1", b"<script>alert(1)</script>")
    text = await threads.artifacts.put(ASK, "a.svg", "image/svg+xml", b"<svg/>")

    answer = await make_file_response(runtime, id, ANNA, is_page=True)
    with pytest.raises(NotAPage):
        await make_file_response(runtime, text, ANNA, is_page=True)

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("inline;")
    assert answer.headers["content-security-policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_an_invalid_media_type_is_not_sent_back() -> None:
    runtime, threads = kept()
    id = await threads.artifacts.put(ASK, "a", "text/html\r\nset-cookie: a=b", b"")

    assert (await make_file_response(runtime, id, ANNA)).headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("who", [BERT, Principal("anna", agents=("other",))])
async def test_a_file_of_another_user_or_agent_does_not_exist(who: Principal) -> None:
    runtime, threads = kept()
    id = await threads.artifacts.put(ASK, "a.txt", "text/plain", b"mine")

    with pytest.raises(FileNotFound):
        await make_file_response(runtime, id, who)
    with pytest.raises(FileNotFound):
        await make_file_response(runtime, "file_0", ANNA)


async def test_a_chart_is_json_and_a_picture_where_one_is_wanted() -> None:
    runtime, threads = kept()
    id = await threads.artifacts.put(ASK, "Revenue", CHART_TYPE, msgspec.json.encode(OPTION))

    option, svg, png = [await make_file_response(runtime, f"{id}{ending}", ANNA) for ending in ("", ".svg", ".png")]

    assert msgspec.json.decode(option.body) == OPTION
    assert option.headers["content-type"] == CHART_TYPE
    assert svg.headers["content-type"] == "image/svg+xml"
    assert bytes(svg.body).startswith(b"<svg")
    assert svg.headers["content-disposition"].startswith('inline; filename="Revenue.svg"')
    assert png.headers["content-type"] == "image/png"
    assert bytes(png.body).startswith(b"\x89PNG")


async def test_of_a_file_there_is_no_picture() -> None:
    runtime, threads = kept()
    id = await threads.artifacts.put(ASK, "a.txt", "text/plain", b"words")

    with pytest.raises(NotAnImage, match=r"'a\.txt' is not a chart"):
        await make_file_response(runtime, f"{id}.svg", ANNA)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a.md", "filename=\"a.md\"; filename*=UTF-8''a.md"),
        ("../../etc/passwd", "filename=\"passwd\"; filename*=UTF-8''passwd"),
        ("..\\..\\a.exe", "filename=\"a.exe\"; filename*=UTF-8''a.exe"),
        ('a"; x="b\r\n', "filename=\"a_; x=_b\"; filename*=UTF-8''a%22%3B%20x%3D%22b"),
        ("../", "filename=\"file\"; filename*=UTF-8''file"),
        ("报告.pdf", "filename=\"__.pdf\"; filename*=UTF-8''%E6%8A%A5%E5%91%8A.pdf"),
    ],
)
def test_a_name_is_written_so_that_it_can_be_no_path_and_no_header(name: str, written: str) -> None:
    assert write_disposition("attachment", name) == f"attachment; {written}"
