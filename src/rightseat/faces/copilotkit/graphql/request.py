"""A GraphQL request."""

import msgspec


class GraphQLRequest(msgspec.Struct):
    """The body of a GraphQL request."""

    query: str
    variables: msgspec.Raw = msgspec.Raw(b"null")
    operationName: str | None = None
