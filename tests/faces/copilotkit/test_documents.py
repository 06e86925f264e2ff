"""Which documents are taken, and how much of one."""

import time

import pytest

from rightseat.faces.copilotkit.graphql.documents import (
    MAX_CACHED_DOCUMENTS,
    MAX_CHARACTERS,
    MAX_SELECTIONS,
    MAX_TOKENS,
    Documents,
    InvalidDocument,
)
from tests.faces.copilotkit import recorded

DATA = "{frontend: {actions: []}, messages: [], metadata: {}}"


def mutation(selection: str, fragments: str = "") -> str:
    return f"mutation {{ generateCopilotResponse(data: {DATA}) {{ {selection} }} }} {fragments}"


def complaints(text: str, operation_name: str | None = None, *, introspection: bool = True) -> list[str]:
    with pytest.raises(InvalidDocument) as caught:
        Documents(introspection=introspection).read(text, operation_name)
    return [error.message for error in caught.value.errors]


def cost(text: str) -> float:
    """Seconds of this thread's own time, at best: reading a document holds up every other request."""
    took = []
    for _ in range(3):
        began = time.thread_time()
        assert complaints(text)
        took.append(time.thread_time() - began)
    return min(took)


# What is wrong


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{ hello ", "Syntax Error: Expected Name, found <EOF>."),
        ("", "Syntax Error: Unexpected <EOF>."),
        ("{ nope }", "Cannot query field 'nope' on type 'Query'."),
        ("{ hello { a } }", "Field 'hello' must not have a selection since type 'String!' has no subfields."),
        ("{ ...F }", "Unknown fragment 'F'."),
        ("{ ...F } fragment F on Query { ...F }", "Cannot spread fragment 'F' within itself."),
        ("subscription { hello }", "The subscription operation is not supported by the schema."),
        ("type A { b: Int }", "The 'A' definition is not executable."),
        ("fragment F on Query { hello }", "Fragment 'F' is never used."),
    ],
)
def test_a_document_that_is_wrong_is_refused_with_the_reason(text: str, complaint: str) -> None:
    assert complaints(text)[0] == complaint


def test_a_document_with_many_mistakes_gets_ten_of_them() -> None:
    assert len(complaints("{" + " ".join(f"nope{number}" for number in range(200)) + "}")) == 11  # and "aborted"


# Which operation


def test_of_several_operations_the_one_that_is_named_is_taken() -> None:
    documents = Documents()
    text = f"query A {{ hello }} {mutation('threadId').replace('mutation', 'mutation B')}"

    assert not documents.read(text, "A").is_mutation
    assert documents.read(text, "B").is_mutation


def test_the_only_operation_needs_no_name() -> None:
    Documents().read("query A { hello }", None)


@pytest.mark.parametrize("name", ["C", "", None])
def test_an_unknown_operation_is_reported(name: str | None) -> None:
    missing = f"The document has no operation named '{name}'."
    unclear = "The document does not have exactly one operation. Name one in operationName."

    assert complaints("query A { hello } query B { hello }", name) == [missing if name else unclear]


@pytest.mark.parametrize(
    "root",
    [
        "a: generateCopilotResponse(data: $data) { threadId } b: generateCopilotResponse(data: $data) { threadId }",
        "__typename generateCopilotResponse(data: $data) { threadId }",
        "... { generateCopilotResponse(data: $data) { threadId } }",
    ],
)
def test_a_mutation_is_for_one_response(root: str) -> None:
    assert complaints(f"mutation M($data: GenerateCopilotResponseInput!) {{ {root} }}") == [
        "A mutation must have generateCopilotResponse as its only field."
    ]


def test_a_mutation_of_nothing_is_refused() -> None:
    assert complaints("mutation { __typename }") == ["A mutation must have generateCopilotResponse as its only field."]


def test_a_response_that_is_asked_for_and_is_not_is_refused() -> None:
    text = mutation("threadId").replace(") {", ") @skip(if: true) {")

    assert complaints(text) == ["Send generateCopilotResponse without directives."]


@pytest.mark.parametrize(
    "text",
    [
        "{ ... @defer { hello } }",
        "{ availableAgents { agents @stream { name } } }",
        "{ ...F @defer } fragment F on Query { hello }",
        "{ __schema { types @stream { name } } }",
    ],
)
def test_a_query_cannot_be_put_off(text: str) -> None:
    assert complaints(text) == ["Queries do not support @defer and @stream. Remove them."]


# How large


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (mutation(" ".join(f"a{n}: threadId" for n in range(16))), "16 aliases, at most 15"),
        (mutation("threadId runId __typename ".replace(" ", " @include(if: true) ") * 17), "51 directives, at most 50"),
        (mutation("metaEvents { " * 12 + "name" + " }" * 12), "14 levels, at most 12"),
        ("{" + " ...{ availableAgents { agents { id } } }" * 60 + "}", "60 repetitions, at most 20"),
        ("{" + " availableAgents { agents { id agents: id } agents { id } }" * 15 + "}", "30 repetitions, at most 20"),
        (
            "{ ...A } fragment A on Query { availableAgents { agents { ...B } } } "
            "fragment B on Agent { id agents: id name a: agents { ...B } b: agents { ...B } }",
            "2005 selections, at most 2000",
        ),
        ("{" + " hello" * (MAX_SELECTIONS + 1) + "}", f"{MAX_SELECTIONS + 1} selections, at most {MAX_SELECTIONS}"),
        (
            "{ hello } fragment F on Query {" + " hello" * MAX_SELECTIONS + "}",
            f"{MAX_SELECTIONS + 1} selections, at most {MAX_SELECTIONS}",
        ),
        ("{ hello }" + " " * MAX_CHARACTERS, f"{MAX_CHARACTERS + 9} characters, at most {MAX_CHARACTERS}"),
    ],
    ids=[
        "aliases",
        "directives",
        "levels",
        "repeated",
        "merged",
        "growing",
        "selections",
        "in a fragment",
        "characters",
    ],
)
def test_a_document_that_is_too_large_is_refused(text: str, complaint: str) -> None:
    assert complaints(text) == [f"The operation is too large: {complaint}."]


def test_aliases_are_counted_in_the_operation_that_is_asked_for() -> None:
    Documents().read(" ".join(f"query Q{n} {{ a{n}: hello }}" for n in range(16)), "Q3")


def test_too_many_tokens_are_refused() -> None:
    many = mutation("threadId").replace("messages: []", f"messages: [{'1 ' * MAX_TOKENS}]")

    assert complaints(many) == [f"Syntax Error: Document contains more than {MAX_TOKENS} tokens. Parsing aborted."]


@pytest.mark.parametrize(
    "selection", ["...F ...F ...F ...F", "threadId @include(if: true) ... @include(if: true) { ...F ...F }"]
)
def test_fragments_count_where_they_are_put(selection: str) -> None:
    four = "fragment F on CopilotResponse { a: threadId b: threadId c: runId d: runId }"

    (complaint,) = complaints(mutation(selection + " ...F" * 2, four))

    assert complaint == f"The operation is too large: {4 * (selection.count('...F') + 2)} aliases, at most 15."


def test_introspection_may_be_deep_but_not_wide() -> None:
    wide = " ".join(f"a{n}: __schema {{ types {{ name }} }}" for n in range(16))

    Documents().read("{ __schema { types { ofType" + " { ofType" * 20 + " { name }" + " }" * 23, None)
    assert complaints(f"{{ {wide} }}") == ["The operation is too large: 16 aliases, at most 15."]


def doubling(depth: int) -> str:
    """Fragments that become 2^depth fields when they are put in their places."""
    fragments = "".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }} " for n in range(depth))
    return f"{{ ...F0 }} {fragments} fragment F{depth} on Query {{ hello }}"


@pytest.mark.parametrize(
    "text",
    [
        doubling(120),
        "{ ...F } fragment F on Query { ...G ...G } fragment G on Query { ...F ...F }",
        "{" + " availableAgents { agents { name } }" * 280 + "}",
        "{" + " hello" * 1990 + "}",
        '{ loadAgentState(data: {agentName: "' + "x" * 2_000_000 + '", threadId: ""}) { state } }',
        "#" + "x" * 2_000_000 + "\n{ hello }",
        "{" + "a{" * 900 + "b" + "}" * 901,
        mutation("threadId").replace("messages: []", "messages: " + "[" * 900 + "]" * 900),
    ],
    ids=["doubling", "in a circle", "merging", "many", "a long text", "a long comment", "deep", "deep lists"],
)
def test_a_hostile_document_costs_little(text: str) -> None:
    assert cost(text) < 0.3


# Secrets


def test_without_introspection_the_schema_is_not_sent() -> None:
    asked = "{ __schema { types { name } } }"

    Documents().read(asked, None)
    assert "introspection has been disabled" in complaints(asked, introspection=False)[0]
    Documents(introspection=False).read("{ __typename hello }", None)


@pytest.mark.parametrize("introspection", [True, False])
def test_errors_suggest_no_names(introspection: bool) -> None:
    assert complaints("{ hell }", introspection=introspection) == ["Cannot query field 'hell' on type 'Query'."]


# What is remembered


def test_a_document_is_read_once() -> None:
    documents = Documents()

    assert documents.read(recorded.document(), None) is documents.read(recorded.document(), None)


def test_only_so_many_documents_are_remembered_and_the_latest_stay() -> None:
    documents = Documents()
    first, second = documents.read("{ hello } # 0", None), documents.read("{ hello } # 1", None)
    for number in range(2, MAX_CACHED_DOCUMENTS + 1):
        documents.read(f"{{ hello }} # {number}", None)
        documents.read("{ hello } # 0", None)

    assert documents.read("{ hello } # 0", None) is first
    assert documents.read("{ hello } # 1", None) is not second


def test_a_document_that_is_wrong_is_not_remembered() -> None:
    documents = Documents()
    known = documents.read("{ hello }", None)
    for number in range(2 * MAX_CACHED_DOCUMENTS):
        with pytest.raises(InvalidDocument):
            documents.read(f"{{ nope{number} }}", None)

    assert documents.read("{ hello }", None) is known
