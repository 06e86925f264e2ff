"""Our schema beside the one that CopilotKit's runtime prints."""

import pytest
from graphql import GraphQLSchema, build_schema, find_breaking_changes, get_introspection_query, parse, validate

from rightseat.faces.copilotkit.graphql.documents import Documents
from rightseat.faces.copilotkit.graphql.schema import core_schema, schema
from tests.faces.copilotkit import recorded

THEIRS = build_schema((recorded.FOLDER / "schema.graphql").read_text())
SENT = sorted(
    {
        recorded.document(str(file.relative_to(recorded.FOLDER)).removesuffix(".request.txt"))
        for pattern in ("*chat*", "*action*", "*agent*", "browser-react-ui-1.10.6/*")
        for file in recorded.FOLDER.glob(f"{pattern}.request.txt")
        if b'"query":' in file.read_bytes()
    }
)


@pytest.fixture(params=["as it is", "as it is printed"])
def ours(request: pytest.FixtureRequest) -> GraphQLSchema:
    return core_schema if request.param == "as it is" else build_schema(schema.as_str())


def test_a_client_of_theirs_finds_all_it_needs_in_ours(ours: GraphQLSchema) -> None:
    assert find_breaking_changes(THEIRS, ours) == []


def test_a_client_of_ours_finds_all_in_theirs_but_the_directives_that_only_their_server_adds(
    ours: GraphQLSchema,
) -> None:
    assert [change.description for change in find_breaking_changes(ours, THEIRS)] == [
        "Standard scalar Int was removed because it is not referenced anymore.",
        "Directive @defer was removed.",
        "Directive @stream was removed.",
    ]


def test_the_real_clients_send_three_documents() -> None:
    names = {document.split("(")[0].split(" {")[0] for document in SENT}

    assert names == {"mutation generateCopilotResponse", "query availableAgents", "query loadAgentState"}


@pytest.mark.parametrize("document", SENT, ids=lambda document: document.split()[1].partition("(")[0])
def test_what_the_real_clients_send_is_valid(document: str, ours: GraphQLSchema) -> None:
    assert validate(ours, parse(document)) == []
    Documents(introspection=False).read(document, None)


def test_what_graphql_tools_ask_first_is_valid() -> None:
    asked = get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, schema_description=True, input_value_deprecation=True
    )

    Documents().read(asked, "IntrospectionQuery")
