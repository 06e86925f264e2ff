"""Calls API operations of plugins: builds the request from arguments, sends it, and reads the response."""

from rightseat.plugins.operations.client import OperationClient, RequestPreview
from rightseat.plugins.operations.tokens import FetchClient

__all__ = ["FetchClient", "OperationClient", "RequestPreview"]
