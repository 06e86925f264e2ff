"""Citations as Workspace reads them."""

from typing import Any
from uuid import UUID

from rightseat.faces.openbb.citations.payload import Quote, forward_citations, write_citations
from rightseat.faces.openbb.citations.sources import CitationSource

ID = "f9c0f525-3aa1-5a13-b163-cc030695ae0e"
WIDGET = CitationSource(
    kind="widget",
    name="Historical Stock Price",
    uuid=ID,
    origin="OpenBB API",
    widget_id="eod_price",
    arguments={"symbol": "AAPL", "source": "fmp"},
)


def cited(source: CitationSource, *quotes: Quote) -> list[dict[str, Any]]:
    citations = write_citations(source, quotes)
    assert all(UUID(citation.pop("id")) for citation in citations)
    return citations


def test_a_widget_is_cited_by_origin_id_and_arguments() -> None:
    assert cited(WIDGET) == [
        {
            "source_info": {
                "type": "widget",
                "origin": "OpenBB API",
                "widget_id": "eod_price",
                "name": "Historical Stock Price",
                "metadata": {"input_args": {"symbol": "AAPL", "source": "fmp"}},
                "citable": True,
            },
            "details": [{"Name": "Historical Stock Price", "symbol": "AAPL"}],
        }
    ]


def test_an_artifact_is_cited_by_its_uuid_if_it_is_one() -> None:
    source = CitationSource(kind="artifact", name="Prices", uuid=ID, description="table made earlier")

    (citation,) = cited(source)

    info = {"type": "artifact", "uuid": ID, "name": "Prices", "description": "table made earlier"}
    assert citation["source_info"] == info | {"metadata": {}, "citable": True}
    (odd,) = cited(CitationSource(kind="artifact", name="Prices", uuid="not-a-uuid"))
    assert "uuid" not in odd["source_info"]


def test_a_page_is_cited_with_its_address() -> None:
    (citation,) = cited(CitationSource(kind="web", name="Example", link="https://example.com/a"))

    assert citation == {
        "source_info": {"type": "web", "name": "Example", "metadata": {}, "citable": True},
        "details": [{"title": "Example", "link": "https://example.com/a"}],
    }


def test_the_values_of_an_argument_are_cited_one_by_one_where_the_widget_wants_it() -> None:
    source = CitationSource(
        kind="widget", name="Prices", arguments={"symbol": ["AAPL", "MSFT"], "n": 1}, split_param="symbol"
    )

    found = [citation["source_info"]["metadata"]["input_args"] for citation in cited(source)]

    assert found == [{"symbol": "AAPL", "n": 1}, {"symbol": "MSFT", "n": 1}]


def test_a_quotation_brings_its_boxes_and_pages() -> None:
    first, second = [{"page": 2}], [{"page": 3}]

    (citation,) = cited(WIDGET, Quote("S1", "one", (2,), [first]), Quote("S1", "two", (2, 3), [second]))

    assert citation["quote_bounding_boxes"] == [first, second]
    assert citation["details"][0]["Page"] == "2, 3"
    assert citation["details"][0]["Reference"] == "one … two"


def test_citations_of_the_data_are_passed_on_under_a_new_id() -> None:
    info = {"type": "web", "name": "Reuters", "metadata": {}}
    source = CitationSource(
        kind="widget", name="News", extra_citations=({"id": "x", "source_info": info}, {"source_info": {}})
    )

    (citation,) = forward_citations(source)

    assert citation["source_info"] == info
    assert str(UUID(citation["id"])) != "x"
